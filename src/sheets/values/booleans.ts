import { fold, withoutMarks } from './fold.ts'

/** Words in the languages of Europe, folded (see `fold`). */
const YES =
  'true yes y 1 x on ja j wahr oui o vrai si s verdadero vero sim verdadeiro waar tak t prawda ano pravda igen'
const NO = 'false no n 0 off nein falsch non faux falso nao onwaar nie nee falsz ne nepravda nem hamis'
const WORDS = new Map([
  ...YES.split(' ').map(word => [word, true] as const),
  ...NO.split(' ').map(word => [word, false] as const),
])

/** A word or a digit. The meaning of texts with a sign (`-1`, `1 %`, `!no`) is unclear. */
const WORD = /^(?:[\p{L}\p{M}]+[.!]?|\p{Nd})$/u

/** True or false as people write it; null if it is neither. */
export function readBoolean(text: string): boolean | null {
  const given = withoutMarks(text).trim()
  return WORD.test(given) ? (WORDS.get(fold(given)) ?? null) : null
}
