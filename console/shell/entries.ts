import { useSyncExternalStore } from 'react'
import { useNavigate } from 'react-router'
import type { State } from '../live/packed.ts'
import type { IconName } from '../parts/icon.tsx'
import { getPreferences, onPreferences, setPreferences } from '../preferences.ts'
import { useTexts } from '../texts/texts.tsx'
import { urls } from '../urls.ts'
import { signOut, useSwitchOrganization } from './account.ts'
import { usePages } from './pages.ts'
import { useWorkspace } from './workspace.tsx'

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

const fold = (text: string) => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()

/** Whether each word of `query` begins one of `name`: "da th" finds "Theme: Dark". */
export function namesBegin(name: string, query: string): boolean {
  const words = fold(name).split(/[^\p{L}\p{N}]+/u)
  const parts = fold(query).split(/\s+/).filter(Boolean)
  return parts.every(part => words.some(word => word.startsWith(part)))
}

export const contains = (text: string, query: string) => fold(text).includes(fold(query).trim())

/** Pages, and what can be done from anywhere. */
export function useFixedEntries(): { pages: Entry[]; actions: Entry[] } {
  const texts = useTexts()
  const navigate = useNavigate()
  const { may, organizations } = useWorkspace()
  const { theme, language } = useSyncExternalStore(onPreferences, getPreferences)
  const change = useSwitchOrganization()
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
  const themes = { system: account.system, light: account.light, dark: account.dark }
  const languages = { system: account.system, en: 'English', de: 'Deutsch' }
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
        run: () => change.mutate(one.organizationId),
      })),
    ...(Object.keys(themes) as (keyof typeof themes)[])
      .filter(one => one !== theme)
      .map(one => ({
        id: `theme:${one}`,
        name: `${account.theme}: ${themes[one]}`,
        icon: 'theme' as const,
        run: () => setPreferences({ theme: one }),
      })),
    ...(Object.keys(languages) as (keyof typeof languages)[])
      .filter(one => one !== language)
      .map(one => ({
        id: `language:${one}`,
        name: `${account.language}: ${languages[one]}`,
        icon: 'language' as const,
        run: () => setPreferences({ language: one }),
      })),
    { id: 'sign-out', name: account.signOut, icon: 'leave', run: () => void signOut() },
  ]
  return { pages, actions }
}
