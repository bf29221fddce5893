import { fold } from './fold.ts'

/** In the languages of Europe; folded, see `fold`. */
const YES =
  'true yes y 1 x on ja j wahr oui o vrai si s verdadero vero sim verdadeiro waar tak t prawda ano pravda igen'
const NO = 'false no n 0 off nein falsch non faux falso nao onwaar nie nee falsz ne nepravda nem hamis'
const WORDS = new Map([
  ...YES.split(' ').map(word => [word, true] as const),
  ...NO.split(' ').map(word => [word, false] as const),
])

/** True or false as people write it, or null where it is neither. */
export const readBoolean = (text: string): boolean | null => WORDS.get(fold(text)) ?? null
