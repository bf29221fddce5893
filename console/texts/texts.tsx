import {
  createContext,
  type ReactNode,
  Suspense,
  use,
  useDeferredValue,
  useMemo,
  useSyncExternalStore,
} from 'react'
import { I18nProvider } from 'react-aria-components'
import { loadReplacement } from '../api/lazy-with-retry.ts'
import { getPreferences, onPreferences } from '../preferences.ts'
import type { Texts } from './en/en.ts'
import { createFormat, type Format } from './format.ts'
import { isolateNames } from './isolate.ts'
import { unitsOf } from './region.ts'

type Language = 'en' | 'de'

/** Only the chosen language is loaded. */
const LOADERS: Record<Language, () => Promise<Texts>> = {
  en: async () => (await import('./en/en.ts')).en,
  de: async () => (await import('./de/de.ts')).de,
}
const loading: Partial<Record<Language, Promise<Texts>>> = {}

/** The first language is loaded together with the page. */
async function load(name: Language): Promise<Texts> {
  const isFirst = Object.keys(loading).length === 0
  return isolateNames(await (isFirst ? LOADERS[name]() : loadReplacement(LOADERS[name])))
}

interface Wording {
  texts: Texts
  format: Format
  locale: string
  language: Language
}

const Words = createContext<Wording | null>(null)

/** The chosen language, else the organization's, else the browser's. */
function chooseLanguage(chosen: string, organization: string | null | undefined): Language {
  if (chosen === 'en' || chosen === 'de') return chosen
  const wished = [organization, ...navigator.languages].map(name => name?.slice(0, 2))
  return wished.find(name => name === 'en' || name === 'de') ?? 'en'
}

interface Props {
  /** The language of a page that exists in no other one. */
  only?: Language
  /** The organization's language, if it is set. */
  language?: string | null
  timeZone?: string
  children: ReactNode
}

export function TextsProvider(props: Props) {
  const chosen = useSyncExternalStore(onPreferences, () => getPreferences().language)
  // Deferred: the page stays in its language until the texts of the new one are loaded.
  const name = useDeferredValue(props.only ?? chooseLanguage(chosen, props.language))
  return (
    <Suspense>
      <Provide name={name} {...props} />
    </Suspense>
  )
}

/**
 * Browsers take English without a country for American. Outside of America the day comes before the month, and clocks have 24
 * hours.
 */
const plain = (name: Language, timeZone = '') =>
  name === 'en' && !/^(America|US)\//.test(timeZone) ? 'en-GB' : name

function Provide({ name, language, timeZone, children }: { name: Language } & Props) {
  loading[name] ??= load(name)
  const texts = use(loading[name])
  const chosen = useSyncExternalStore(onPreferences, () => getPreferences().units)
  const value = useMemo(() => {
    // A region determines how numbers are written: de-AT of the browser stays de-AT.
    const locale =
      [...navigator.languages, language].find(one => one?.startsWith(`${name}-`)) ?? plain(name, timeZone)
    document.documentElement.lang = name
    const units = chosen === 'region' ? unitsOf(navigator.language, { language, timeZone }) : chosen
    return { texts, format: createFormat(locale, timeZone, texts, units), locale, language: name }
  }, [name, language, timeZone, texts, chosen])
  return (
    <I18nProvider locale={value.locale}>
      <Words value={value}>{children}</Words>
    </I18nProvider>
  )
}

function useWords() {
  const words = use(Words)
  if (!words) throw new Error('There is no TextsProvider above this component')
  return words
}

export const useTexts = (): Texts => useWords().texts
export const useFormat = (): Format => useWords().format
export const useLocale = (): string => useWords().locale

/** The texts of a page that are loaded with it, in the chosen language. */
export function useOwnTexts<T extends object>(own: Record<Language, T>): T {
  const { language } = useWords()
  return useMemo(() => isolateNames(own[language]), [own, language])
}
