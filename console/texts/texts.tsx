import { createContext, type ReactNode, Suspense, use, useMemo, useSyncExternalStore } from 'react'
import { getPreferences, onPreferences } from '../preferences.ts'
import type { Texts } from './en.ts'
import { createFormat, type Format } from './format.ts'

type Language = 'en' | 'de'

/** Only the one that somebody reads is loaded. */
const LOADERS: Record<Language, () => Promise<Texts>> = {
  en: async () => (await import('./en.ts')).en,
  de: async () => (await import('./de.ts')).de,
}
const loading: Partial<Record<Language, Promise<Texts>>> = {}

async function load(name: Language): Promise<Texts> {
  try {
    return await LOADERS[name]()
  } catch (cause) {
    // The server was away: the next one who needs it tries again.
    delete loading[name]
    throw cause
  }
}

const Words = createContext<{ texts: Texts; format: Format; locale: string } | null>(null)

/** The language that was chosen, else the organization's, else the browser's. */
function chooseLanguage(chosen: string, organization: string | undefined): Language {
  if (chosen === 'en' || chosen === 'de') return chosen
  const wished = [organization, ...navigator.languages].map(name => name?.slice(0, 2))
  return wished.find(name => name === 'en' || name === 'de') ?? 'en'
}

interface Props {
  language?: string
  timeZone?: string
  children: ReactNode
}

export function TextsProvider({ language, ...rest }: Props) {
  const chosen = useSyncExternalStore(onPreferences, () => getPreferences().language)
  return (
    <Suspense>
      <Provide name={chooseLanguage(chosen, language)} {...rest} />
    </Suspense>
  )
}

function Provide({ name, timeZone, children }: { name: Language } & Omit<Props, 'language'>) {
  loading[name] ??= load(name)
  const texts = use(loading[name])
  const value = useMemo(() => {
    // A region says how numbers are written: de-AT of the browser stays that.
    const locale = navigator.languages.find(one => one.startsWith(name)) ?? name
    document.documentElement.lang = name
    return { texts, format: createFormat(locale, timeZone, texts), locale }
  }, [name, timeZone, texts])
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
