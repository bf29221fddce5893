import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { LISTS, type ListName } from '../api/lists.ts'
import { useWorkspace } from '../api/workspace.ts'
import { useLive } from '../live/live.tsx'
import { useLocale, useTexts } from '../texts/texts.tsx'
import { urls } from '../urls.ts'
import { containing, type Entry } from './entries.ts'
import { type HintedFence, useFenceHints } from './fence-hints.ts'

/** Of each kind: more than fit on a screen nobody reads, and another letter leaves fewer. */
const MAX_OF_KIND = 6

const KINDS = ['subjects', 'vehicles', 'hubs', 'teams', 'geofences'] as const
type Kind = (typeof KINDS)[number]

/** What has this text in its name: subjects that are loaded at once, and whatever the server finds. */
export function useFoundEntries(text: string, settled: string) {
  const texts = useTexts()
  const { may } = useWorkspace()
  const { fleet } = useLive()
  const hintFences = useFenceHints()
  const hasMap = may('view/location')
  const server = useQuery({
    queryKey: ['palette', settled],
    enabled: settled !== '',
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => {
      const query = { search: settled, limit: MAX_OF_KIND, sort: 'name' } as const
      const find = async <Name extends ListName>(name: Name) =>
        (may(LISTS[name].permission) ? LISTS[name].read(query, signal) : []) as
          | Awaited<ReturnType<(typeof LISTS)[Name]['read']>>
          | never[]
      const [devices, users, vehicles, hubs, teams, geofences] = await Promise.all([
        find('devices'),
        find('users'),
        find('vehicles'),
        find('hubs'),
        find('teams'),
        find('geofences'),
      ])
      return { devices, users, vehicles, hubs, teams, geofences }
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
  const { devices = [], users = [], vehicles = [], hubs = [], teams = [], geofences = [] } = server.data ?? {}
  const elsewhere = [
    ...devices.map(({ _id, name, lastSeenAt }) => {
      const entry = onMap(_id, name, 'device')
      // What was never heard of is on no map.
      return hasMap && (lastSeenAt || entry.state) ? entry : { ...entry, to: `${urls.devices}/${_id}` }
    }),
    ...(hasMap ? users : []).map(({ _id, name, email }) => ({ ...onMap(_id, name, 'user'), hint: email })),
  ]
  const hints = hintFences(geofences as readonly HintedFence[])
  const found: { [kind in Kind]: Entry[] } = {
    subjects: [...loaded, ...elsewhere.filter(({ id }) => !known.has(id))],
    vehicles: vehicles.map(({ _id, name, plate, deviceId }) => ({
      id: _id,
      name,
      hint: plate ?? undefined,
      icon: 'vehicle',
      to: deviceId && hasMap ? urls.subject(deviceId) : `${urls.vehicles}/${_id}`,
    })),
    hubs: hubs.map(({ _id, name, address }) => ({
      id: _id,
      name,
      hint: address ?? undefined,
      icon: 'hub',
      to: `${urls.hubs}/${_id}`,
    })),
    teams: teams.map(({ _id, name }) => ({ id: _id, name, icon: 'team', to: `${urls.teams}/${_id}` })),
    geofences: geofences.map(({ _id, name }) => ({
      id: _id,
      name,
      hint: hints.get(_id),
      icon: 'fence',
      to: urls.fence(_id),
    })),
  }
  // Until the answer to this text is here, of the one before it what fits this text too.
  const isUnsettled = settled !== text.trim()
  const isOld = isUnsettled || server.isPlaceholderData
  const fits = ({ name, hint = '' }: Entry) => !isOld || contains(`${name} ${hint}`)
  const { compare } = new Intl.Collator(useLocale(), { numeric: true })
  const shown = (kind: Kind) =>
    text.trim() === ''
      ? []
      : found[kind]
          .filter(fits)
          .sort((one, other) => compare(one.name, other.name))
          .slice(0, MAX_OF_KIND)
  return {
    found: Object.fromEntries(KINDS.map(kind => [kind, shown(kind)])) as typeof found,
    // What went wrong with the text before says nothing of this one.
    isSearching: text.trim() !== '' && (isUnsettled || ((isOld || server.isFetching) && !server.error)),
    error: server.error,
  }
}
