/**
 * Accents are marks on letters of the Latin and the Greek script, the stress of Russian vowels and the dots of ё. Where marks are vowels or
 * make another letter, as in Thai, Arabic, the scripts of India and Japanese, a text without them is another word: ガラス is glass, and カラス a crow.
 * Those of a number or of nothing belong to a picture.
 */
const ACCENTS = /(?<=^|[\p{sc=Latn}\p{sc=Grek}\p{N}])\p{M}+|(?<=[аеиоуыэюя])[\u0300\u0301]|(?<=е)\u0308/gu

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
    .replaceAll(/[^\p{L}\p{M}\p{N}]+|\p{Variation_Selector}+/gu, '')
    .replaceAll(ACCENTS, '')

/** A text without the marks that nobody sees: of the direction of writing, as contacts and tables are copied with, and blanks without width. */
export const withoutMarks = (text: string): string =>
  text.replaceAll(/[\p{Bidi_Control}\u200b\u2060\ufeff]/gu, '')
