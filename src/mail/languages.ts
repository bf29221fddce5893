import { de } from './texts/de.ts'
import { en } from './texts/en.ts'

const LANGUAGES = { en, de }
export type Language = keyof typeof LANGUAGES

export const textsOf = (language: Language) => LANGUAGES[language]

/** A header that is longer says nothing more about which of two languages somebody reads. */
const MAX_HEADER = 200

const toLanguage = (tag: string): Language | null => {
  const [primary] = tag.trim().toLowerCase().split('-')
  return primary === 'de' || primary === 'en' ? primary : null
}

/** The language of an organization's setting, such as de-AT; English for one that no mail is written in. */
export const languageOf = (tag: string | null): Language => (tag !== null && toLanguage(tag)) || 'en'

/** The language that an `Accept-Language` header prefers among ours, or null if it names none of them. */
export function preferredLanguage(header: string | undefined): Language | null {
  const ranked = (header ?? '')
    .slice(0, MAX_HEADER)
    .split(',')
    .map(part => {
      const [tag = '', ...parameters] = part.split(';')
      const quality = parameters.map(one => /^\s*q=([\d.]+)/.exec(one)?.[1]).find(one => one !== undefined)
      return { language: toLanguage(tag), quality: quality === undefined ? 1 : Number(quality) }
    })
    .filter(({ language, quality }) => language !== null && quality > 0)
    .sort((a, b) => b.quality - a.quality)
  return ranked[0]?.language ?? null
}
