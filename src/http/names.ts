import { z } from 'zod'

/** Embeddings, overrides and isolates: they turn round the words that a page writes beside the name. */
export const TURNING = /[\u202A-\u202E\u2066-\u2069]/
/**
 * Control characters, non-characters, which XML cannot hold, and invisible characters. Excepted are those that join or
 * separate letters, mark their direction or make a flag.
 */
const UNSEEN =
  /[\p{Cc}\p{Noncharacter_Code_Point}\uFFF9-\uFFFB]|(?<!\u{1F3F4}[\u{E0020}-\u{E007F}]*)(?![\u061C\u200C-\u200F\u202A-\u202E\u2066-\u2069])(?=\p{Default_Ignorable_Code_Point})\p{Cf}/u
/** A name must show something: spaces and letters without a shape are not enough. */
const VISIBLE = /(?![\p{Default_Ignorable_Code_Point}\u2800])[\p{L}\p{N}\p{P}\p{S}]/u

/**
 * The rule for every name that a client sends: one line that cannot be mistaken for another name. Names in answers are
 * not checked, so older ones stay readable.
 */
export const newName = (max: number, min = 1) =>
  z
    .string()
    .overwrite(name => name.replaceAll(/\s+/g, ' '))
    .trim()
    .min(min)
    // Longer texts are not checked further: the patterns below may take time in the square of the length.
    .max(max, { abort: true })
    .refine(name => name === '' || VISIBLE.test(name), {
      message: 'This needs at least one character that can be seen.',
      params: { code: 'blank' },
    })
    .refine(name => !TURNING.test(name), {
      message: 'This has a hidden character that turns the direction of writing: type it again.',
      params: { code: 'hidden-character' },
    })
    .refine(name => !UNSEEN.test(name), {
      message: 'This has a character that cannot be seen: type it again.',
      params: { code: 'hidden-character' },
    })
    .describe(
      'Has at least one character that can be seen, none that cannot, and none that turns the direction of writing; blanks and line ends count as one space',
    )
