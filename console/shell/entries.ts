import { useNavigate } from 'react-router'
import { useWorkspace } from '../api/workspace.ts'
import type { State } from '../live/packed.ts'
import type { IconName } from '../parts/icon.tsx'
import { useTexts } from '../texts/texts.tsx'
import { urls } from '../urls.ts'
import { useSignOut, useSwitchOrganization } from './account.ts'
import { useChoices } from './choices.ts'
import { usePages } from './pages.ts'

/** Something that the palette leads to or does. */
export interface Entry {
  id: string
  name: string
  /** What tells those of one name apart. */
  hint?: string
  icon: IconName
  state?: State
  /** Where it leads; what does something instead has `run`. */
  to?: string
  run?: () => void
}

/** Of most names nothing is to be taken away. */
const isPlain = (text: string) => !/[^ -~]/.test(text)
const fold = (text: string) =>
  (isPlain(text) ? text : text.normalize('NFD').replace(/\p{M}/gu, '')).toLowerCase()

/** Whether each word of `query` begins one of `name`: "da th" finds "Theme: Dark". */
export function namesBegin(name: string, query: string): boolean {
  const words = fold(name).split(/[^\p{L}\p{N}]+/u)
  const parts = fold(query).split(/\s+/).filter(Boolean)
  return parts.every(part => words.some(word => word.startsWith(part)))
}

/** Of many texts: the query is read once. */
export function containing(query: string): (text: string) => boolean {
  const wanted = fold(query).trim()
  return text => fold(text).includes(wanted)
}

/** Pages, and what can be done from anywhere. */
export function useFixedEntries(): { pages: Entry[]; actions: Entry[] } {
  const texts = useTexts()
  const navigate = useNavigate()
  const { may, organizations } = useWorkspace()
  const choices = useChoices()
  const change = useSwitchOrganization()
  const signOut = useSignOut()
  const { account, records } = texts
  const openInterface = () => void window.open(urls.interface, '_blank', 'noreferrer')

  const pages: Entry[] = [
    ...usePages().map(({ to, icon, text }) => ({ id: `page:${to}`, name: text, icon, to })),
    { id: 'page:interface', name: texts.nav.interface, icon: 'code', run: openInterface },
  ]
  const creations = [
    { to: urls.devices, needs: 'create/device', name: records.devices.create },
    { to: urls.vehicles, needs: 'create/vehicle', name: records.vehicles.create },
    { to: urls.teams, needs: 'create/team', name: records.teams.create },
    { to: urls.hubs, needs: 'create/hub', name: records.hubs.create },
  ]
  const actions: Entry[] = [
    ...creations
      .filter(({ needs }) => may(needs))
      .map(({ to, name }) => ({
        id: `create:${to}`,
        name,
        icon: 'plus' as const,
        run: () => void navigate(`${to}/new`),
      })),
    ...organizations
      .filter(one => !one.isCurrent)
      .map(one => ({
        id: `organization:${one.organizationId}`,
        name: texts.palette.switchTo(one.organizationName),
        hint: one.roleName,
        icon: 'hub' as const,
        run: () => change(one),
      })),
    ...choices.flatMap(({ name: what, icon, values }) =>
      values
        .filter(({ isChosen }) => !isChosen)
        .map(({ id, name, choose }) => ({ id, name: `${what}: ${name}`, icon, run: choose })),
    ),
    { id: 'sign-out', name: account.signOut, icon: 'leave', run: signOut },
  ]
  return { pages, actions }
}
