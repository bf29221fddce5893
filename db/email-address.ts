/**
 * How addresses are compared, everywhere: by this text, which is without spaces around it and without the case of A to
 * Z. No other letter is folded: what is one letter to one rule of folding is two to the next (`İ`), and PostgreSQL folds
 * by its locale. The SQL gives the same text.
 */
export function foldEmail(email: string): string {
  return email.trim().replace(/[A-Z]+/g, letters => letters.toLowerCase())
}

/** The folded text of a column; that of `accounts` is unique by it. */
export const foldedEmail = (column: string) => `lower(${column} COLLATE "C")`
