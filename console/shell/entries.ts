import { useNavigate } from 'react-router'
import { useWorkspace } from '../api/workspace.ts'
import { KINDS, PAGE_KINDS, permissionTo } from '../kinds.ts'
import type { State } from '../live/packed.ts'
import type { IconName } from '../parts/icon.tsx'
import { useTexts } from '../texts/texts.tsx'
import { urls } from '../urls.ts'
import { usePages } from './pages.ts'
import { useChoices } from './preference-choices.ts'
import { sectionsFor } from './sections.ts'
import { useSignOut, useSwitchOrganization } from './session-actions.ts'

/** A place that the palette leads to, or an action that it runs. */
export interface Entry {
  id: string
  name: string
  /** Tells entries of the same name apart. */
  hint?: string
  icon: IconName
  state?: State
  /** The address that it leads to; an action has `run` instead. */
  to?: string
  run?: () => void
}

/** Most names are plain ASCII and need no normalization. */
const isPlain = (text: string) => !/[^ -~]/.test(text)
const fold = (text: string) =>
  (isPlain(text) ? text : text.normalize('NFD').replace(/\p{M}/gu, '')).toLowerCase()

/** Whether each word of `query` begins one of `name`: "da th" finds "Theme: Dark". */
export function namesBegin(name: string, query: string): boolean {
  const words = fold(name).split(/[^\p{L}\p{N}]+/u)
  const parts = fold(query).split(/\s+/).filter(Boolean)
  return parts.every(part => words.some(word => word.startsWith(part)))
}

/** A test for many texts. It folds the query once. */
export function containing(query: string): (text: string) => boolean {
  const wanted = fold(query).trim()
  return text => fold(text).includes(wanted)
}

/** The pages, and the actions that are possible on every page. */
export function useFixedEntries(): { pages: Entry[]; actions: Entry[] } {
  const texts = useTexts()
  const navigate = useNavigate()
  const { may, organizations } = useWorkspace()
  const choices = useChoices()
  const change = useSwitchOrganization()
  const signOut = useSignOut()
  const { account } = texts
  const openInterface = () => void window.open(urls.interface, '_blank', 'noreferrer')

  const pages: Entry[] = [
    ...usePages().map(({ to, icon, text }) => ({ id: `page:${to}`, name: text, icon, to })),
    ...sectionsFor(may).map(name => ({
      id: `page:${urls.settingsOf(name)}`,
      name: texts.nav.sections[name],
      hint: texts.nav.settings,
      icon: 'settings' as const,
      to: urls.settingsOf(name),
    })),
    { id: 'page:interface', name: texts.nav.interface, icon: 'code', run: openInterface },
  ]
  const actions: Entry[] = [
    ...PAGE_KINDS.filter(kind => KINDS[kind].opens === 'in-form' && may(permissionTo('create', kind))).map(
      kind => ({
        id: `create:${urls.list(kind)}`,
        name: texts.kinds[kind].create,
        icon: 'plus' as const,
        run: () => void navigate(urls.newRecord(kind)),
      }),
    ),
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
