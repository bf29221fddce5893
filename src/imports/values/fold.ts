/**
 * Marks that are accents. Where they are vowels, or make another letter, as in Thai, the scripts of India and Japanese, a text without them
 * is another word: ガラス is glass, and カラス a crow.
 */
const ACCENTS =
  /(?![\u3099\u309a])(?=\p{M})[\p{sc=Zinh}\p{sc=Latn}\p{sc=Grek}\p{sc=Cyrl}\p{sc=Arab}\p{sc=Hebr}]/gu

/** A text without case, accents, punctuation and spaces: by which headings and options are found. */
export const fold = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll('ı', 'i')
    .replaceAll('ß', 'ss')
    .replaceAll('ł', 'l')
    .replaceAll('ø', 'o')
    .replaceAll('æ', 'ae')
    .replaceAll(ACCENTS, '')
    .replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, '')

/** A text without the marks that nobody sees: of the direction of writing, as contacts and tables are copied with, and blanks without width. */
export const withoutMarks = (text: string): string =>
  text.replaceAll(/[\p{Bidi_Control}\u200b\u2060\ufeff]/gu, '')
