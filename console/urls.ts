import { KINDS, type PageKind } from './kinds.ts'

/** Builds every address of the console. */
export const urls = {
  map: '/',
  /** The map around a place. */
  mapAt: (lat: number, lng: number, zoom: number) => `/#${zoom}/${lat.toFixed(5)}/${lng.toFixed(5)}`,
  /** The page of a kind of records. */
  list: (kind: PageKind) => `/${kind}`,
  newRecord: (kind: PageKind) => `/${kind}/new`,
  /** One record: in its form, or on the map. */
  record: (kind: PageKind, id: string) =>
    KINDS[kind].opens === 'on-map' ? urls.fence(id) : `/${kind}/${id}`,
  subject: (subjectId: string) => `/?subject=${encodeURIComponent(subjectId)}`,
  playback: '/playback',
  /** One subject's day; without `day` the current one. */
  playbackOf: (type: 'device' | 'user' | 'vehicle', id: string, day?: string) =>
    `/playback?subject=${type}:${id}${day === undefined ? '' : `&day=${day}`}`,
  /** A day of a subject of which only anomalies are known. */
  anomaliesOf: (type: 'device' | 'user', id: string, day: string) =>
    `/playback?subject=${type}:${id}&day=${day}&anomalies=true`,
  /** A subject's day at one time. */
  playbackAt: (type: 'device' | 'user', id: string, day: string, at: string) =>
    `/playback?subject=${type}:${id}&day=${day}&at=${encodeURIComponent(at)}`,
  /** A geofence on the map; `new` draws one. */
  fence: (fenceId: string): string => `/?fence=${fenceId}`,
  signIn: (next: string) => (next === '/' ? '/sign-in' : `/sign-in?next=${encodeURIComponent(next)}`),
  /** The token stands behind the #, which a browser sends to no server. */
  invitation: (token: string) => `/invitation#${token}`,
  forgotPassword: '/forgot-password',
  register: '/register',
  schedules: '/schedules',
  imports: '/imports',
  links: '/links',
  rejections: '/rejections',
  rejectionsOf: (deviceId: string) => `/rejections?device=${deviceId}`,
  /** How the server is doing. */
  server: '/server',
  settings: '/settings',
  /** A section of the settings, and one record in it. */
  settingsOf: (section: string, id = '') => `/settings/${section}${id && `/${id}`}`,
  interface: '/api/v3/docs',
}

/** The path of an address of this origin, else null: `//elsewhere` is another host, also with a tab between the slashes. */
export function ownPath(address: string): string | null {
  try {
    const { origin, pathname, search, hash } = new URL(address, location.origin)
    return origin === location.origin ? pathname.replace(/^\/+/, '/') + search + hash : null
  } catch {
    return null
  }
}
