import { createContext, type ReactNode, use, useMemo, useSyncExternalStore } from 'react'
import { getPreferences, onPreferences } from '../preferences.ts'
import { de } from './de.ts'
import { en, type Texts } from './en.ts'
import { createFormat, type Format } from './format.ts'

const LANGUAGES = { en, de }
const Words = createContext<{ texts: Texts; format: Format; locale: string } | null>(null)

/** The language that was chosen, else the organization's, else the browser's. */
function chooseLanguage(chosen: string, organization: string | undefined): 'en' | 'de' {
  if (chosen === 'en' || chosen === 'de') return chosen
  const wished = [organization, ...navigator.languages].map(name => name?.slice(0, 2))
  return wished.find(name => name === 'en' || name === 'de') ?? 'en'
}

export function TextsProvider(props: { language?: string; timeZone?: string; children: ReactNode }) {
  const { language, timeZone, children } = props
  const chosen = useSyncExternalStore(onPreferences, () => getPreferences().language)
  const name = chooseLanguage(chosen, language)
  const value = useMemo(() => {
    const texts = LANGUAGES[name]
    // A region says how numbers are written: de-AT of the browser stays that.
    const locale = navigator.languages.find(one => one.startsWith(name)) ?? name
    document.documentElement.lang = name
    return { texts, format: createFormat(locale, timeZone, texts), locale }
  }, [name, timeZone])
  return <Words value={value}>{children}</Words>
}

function useWords() {
  const words = use(Words)
  if (!words) throw new Error('There are no texts above this part')
  return words
}

export const useTexts = (): Texts => useWords().texts
export const useFormat = (): Format => useWords().format
export const useLocale = (): string => useWords().locale
