import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { answered, api } from '../api/client.ts'
import { readList } from '../api/lists.ts'
import { useWorkspace } from '../api/workspace.ts'
import { KINDS, type KindName, PAGE_KINDS, type PageKind, permissionTo } from '../kinds.ts'
import { useLive } from '../live/live.tsx'
import { readBasemapSetting } from '../map/basemap-setting.ts'
import { useLocale, useTexts } from '../texts/texts.tsx'
import { urls } from '../urls.ts'
import { containing, type Entry } from './entries.ts'
import { type HintedFence, useFenceHints } from './fence-hints.ts'

/** Per group. More would not be read, and another letter leaves fewer. */
const MAX_OF_KIND = 6

/** Streets and towns are searched for from this many letters on: fewer are in very many names. */
const MIN_LETTERS_OF_PLACE = 3
/** The server's limit for a search of places. */
const MAX_LETTERS_OF_PLACE = 100

/** Devices and users are found as subjects of the map. */
const TABLES = PAGE_KINDS.filter(kind => kind !== 'devices' && kind !== 'users')
const GROUPS = ['subjects', ...TABLES] as const
type Group = (typeof GROUPS)[number]

/** The fields of a found record that its entry shows, where its kind has them. */
interface Found {
  _id: string
  name: string
  plate?: string | null
  address?: string | null
  deviceId?: string | null
}

/** The streets and towns of the basemap with this text in their name; none where the map shows no names. */
function useFoundPlaces(text: string, isWanted: boolean) {
  const search = text.slice(0, MAX_LETTERS_OF_PLACE)
  const { data, isFetching } = useQuery({
    queryKey: ['palette', 'places', search],
    enabled: isWanted && search.length >= MIN_LETTERS_OF_PLACE && readBasemapSetting()?.vector === true,
    // A failure leaves out the places alone.
    retry: false,
    queryFn: async ({ signal }) =>
      (await answered(api.GET('/api/v3/places', { params: { query: { search } }, signal }))).data,
  })
  const entries = (data ?? []).flatMap((place): Entry[] => {
    if (place?.lat === undefined || place.lng === undefined) return []
    const { name, lat, lng, street } = place
    return [{ id: `place:${lat},${lng}`, name, icon: 'map', to: urls.mapAt(lat, lng, street ? 16 : 13) }]
  })
  // The parts of a long street have one name.
  const names = new Set<string>()
  return {
    places: entries.filter(({ name }) => !names.has(name) && names.add(name)).slice(0, MAX_OF_KIND),
    isFetching,
  }
}

/** The records with this text in their name: the loaded subjects at once, and the records that the server finds. */
export function useFoundEntries(text: string, debounced: string) {
  const texts = useTexts()
  const { may } = useWorkspace()
  const { fleet } = useLive()
  const hintFences = useFenceHints()
  const hasMap = may('view/location')
  const { places, isFetching: isFindingPlaces } = useFoundPlaces(debounced, hasMap)
  const server = useQuery({
    queryKey: ['palette', debounced],
    enabled: debounced !== '',
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => {
      const query = { search: debounced, limit: MAX_OF_KIND, sort: 'name' } as const
      const find = async <Kind extends KindName>(kind: Kind) =>
        may(permissionTo('view', kind)) ? await readList(kind, query, signal) : []
      const [devices, users, ...tables] = await Promise.all([
        find('devices'),
        find('users'),
        ...TABLES.map(find),
      ])
      const driverId = users.map(({ _id }) => _id).join()
      const driven =
        driverId && may('view/vehicle')
          ? (await answered(api.GET('/api/v3/vehicles', { params: { query: { driverId } }, signal }))).data
          : []
      return {
        devices,
        users,
        driven: new Map(driven.map(vehicle => [vehicle.driverId, vehicle])),
        tables: new Map<PageKind, readonly Found[]>(TABLES.map((kind, at) => [kind, tables[at] ?? []])),
      }
    },
  })

  const onMap = (id: string, name: string, type: 'device' | 'user'): Entry => ({
    id,
    name,
    hint: type === 'device' ? texts.subject.device : texts.subject.person,
    icon: type,
    state: fleet.find(id)?.state,
    to: urls.subject(id),
  })
  const contains = containing(text)
  const loaded: Entry[] = []
  if (text.trim() !== '') {
    fleet.names.forEach((name, slot) => {
      if (contains(name)) loaded.push(onMap(fleet.ids[slot] as string, name, fleet.typeOf(slot)))
    })
  }
  const known = new Set(loaded.map(({ id }) => id))
  const { devices = [], users = [], driven, tables } = server.data ?? {}
  /** A person is where their phone is, or else the vehicle that they drive. */
  const onMapAs = ({ _id, name, email }: (typeof users)[number]): Entry => {
    const own = { ...onMap(_id, name, 'user'), hint: email }
    const vehicle = driven?.get(_id)
    if (own.state || !vehicle?.deviceId) return own
    return {
      ...own,
      hint: vehicle.plate ? `${vehicle.name} ${vehicle.plate}` : vehicle.name,
      state: fleet.find(vehicle.deviceId)?.state,
      to: urls.subject(vehicle.deviceId),
    }
  }
  const elsewhere = [
    ...devices.map(({ _id, name, lastSeenAt }) => {
      const entry = onMap(_id, name, 'device')
      // A device that never reported is not on the map.
      return hasMap && (lastSeenAt || entry.state) ? entry : { ...entry, to: urls.record('devices', _id) }
    }),
    ...users.map(user => (hasMap ? onMapAs(user) : { ...onMapAs(user), to: urls.record('users', user._id) })),
  ]
  const hints = hintFences((tables?.get('geofences') ?? []) as readonly HintedFence[])
  const foundOf = (group: Group): Entry[] => {
    if (group === 'subjects') return [...loaded, ...elsewhere.filter(({ id }) => !known.has(id))]
    return (tables?.get(group) ?? []).map(({ _id, name, plate, address, deviceId }) => ({
      id: _id,
      name,
      hint: plate ?? address ?? hints.get(_id),
      icon: KINDS[group].icon,
      // A vehicle is where its device is.
      to: deviceId && hasMap ? urls.subject(deviceId) : urls.record(group, _id),
    }))
  }
  // Until the response to this text arrives, the entries of the previous text that also fit this one are shown.
  const isTyping = debounced !== text.trim()
  const isOld = isTyping || server.isPlaceholderData
  const fits = ({ name, hint = '' }: Entry) => !isOld || contains(`${name} ${hint}`)
  const { compare } = new Intl.Collator(useLocale(), { numeric: true })
  const shown = (group: Group) =>
    text.trim() === ''
      ? []
      : foundOf(group)
          .filter(fits)
          .sort((one, other) => compare(one.name, other.name))
          .slice(0, MAX_OF_KIND)
  return {
    found: [...GROUPS.map(group => [group, shown(group)] as const), ['places', places] as const],
    // An error about the previous text says nothing about this one.
    isSearching:
      text.trim() !== '' && (isTyping || isFindingPlaces || ((isOld || server.isFetching) && !server.error)),
    error: server.error,
  }
}
