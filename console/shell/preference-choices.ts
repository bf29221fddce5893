import { useSyncExternalStore } from 'react'
import type { IconName } from '../parts/icon.tsx'
import { getPreferences, onPreferences, type Preferences, setPreferences } from '../preferences.ts'
import { useTexts } from '../texts/texts.tsx'

interface Choice {
  key: 'theme' | 'language' | 'units'
  name: string
  icon: IconName
  values: [value: string, name: string][]
}

/** The preferences of this browser, for the account menu and the palette. */
export function useChoices() {
  const { account: t } = useTexts()
  const preferences = useSyncExternalStore(onPreferences, getPreferences)
  const choices: Choice[] = [
    {
      key: 'theme',
      name: t.theme,
      icon: 'theme',
      values: [
        ['system', t.system],
        ['light', t.light],
        ['dark', t.dark],
      ],
    },
    {
      key: 'language',
      name: t.language,
      icon: 'language',
      values: [
        ['system', t.system],
        ['en', 'English'],
        ['de', 'Deutsch'],
      ],
    },
    {
      key: 'units',
      name: t.units,
      icon: 'ruler',
      values: [
        ['region', t.system],
        ['metric', t.metric],
        ['imperial', t.imperial],
      ],
    },
  ]
  return choices.map(({ key, name, icon, values }) => ({
    key,
    name,
    icon,
    values: values.map(([value, name]) => ({
      id: `${key}:${value}`,
      name,
      isChosen: preferences[key] === value,
      choose: () => setPreferences({ [key]: value } as Partial<Preferences>),
    })),
  }))
}
