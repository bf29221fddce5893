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
    .replaceAll(/[^\p{L}\p{N}]+/gu, '')

/** A text without the marks that nobody sees: of the direction of writing, as contacts and tables are copied with, and blanks without width. */
export const withoutMarks = (text: string): string =>
  text.replaceAll(/[\p{Bidi_Control}\u200b\u2060\ufeff]/gu, '')
