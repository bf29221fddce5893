import type { Choice } from '../../../parts/parts.tsx'

/** The languages of the console with the regions whose dates and numbers differ. */
const LANGUAGES = ['en-GB', 'en-US', 'en-IE', 'en-CA', 'en-AU', 'de-DE', 'de-AT', 'de-CH']

const withChosen = (names: readonly string[], chosen: string) =>
  chosen === '' || names.includes(chosen) ? names : [chosen, ...names]

/** The time zones that the browser knows, each with its distance from UTC now. */
export function zoneNames(locale: string, chosen: string): Choice[] {
  return withChosen(['UTC', ...Intl.supportedValuesOf('timeZone')], chosen).map(id => ({
    id,
    name: id.replaceAll('_', ' '),
    hint: offsetOf(locale, id),
  }))
}

function offsetOf(locale: string, timeZone: string): string | undefined {
  const parts = new Intl.DateTimeFormat(locale, { timeZone, timeZoneName: 'shortOffset' }).formatToParts()
  return parts.find(({ type }) => type === 'timeZoneName')?.value
}

export function currencyNames(locale: string, chosen: string): Choice[] {
  const words = new Intl.DisplayNames(locale, { type: 'currency' })
  return withChosen(Intl.supportedValuesOf('currency'), chosen).map(id => ({
    id,
    name: `${id} · ${words.of(id) ?? id}`,
  }))
}

export function languageNames(locale: string, chosen: string): Choice[] {
  const words = new Intl.DisplayNames(locale, { type: 'language' })
  return withChosen(['en', 'de', ...LANGUAGES], chosen).map(id => ({ id, name: words.of(id) ?? id }))
}
