/**
 * Accents are marks on Latin and Greek letters, the stress of Russian vowels and the dots of ё. In scripts where marks
 * are vowels or make another letter, as in Thai, Arabic, the scripts of India and Japanese, a text without them is
 * another word: ガラス is glass, and カラス a crow. Marks on a number or on nothing belong to an emoji.
 */
const ACCENTS = /(?<=^|[\p{sc=Latn}\p{sc=Grek}\p{N}])\p{M}+|(?<=[аеиоуыэюя])[\u0300\u0301]|(?<=е)\u0308/gu

/** Removes case, accents, punctuation and spaces from a text; headings and options are compared in this form. */
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

/**
 * Removes invisible characters: marks of writing direction, which come with copied contacts and tables, and blanks
 * without width.
 */
export const withoutMarks = (text: string): string =>
  text.replaceAll(/[\p{Bidi_Control}\u200b\u2060\ufeff]/gu, '')
