import { z } from 'zod'

/** Embeddings, overrides and isolates: they turn round the words that a page writes beside the name. */
export const TURNING = /[\u202A-\u202E\u2066-\u2069]/
/** Control characters, what is no character at all and XML cannot hold, and what is drawn as nothing, but for what joins or parts letters, marks their direction or makes a flag. */
const UNSEEN =
  /[\p{Cc}\p{Noncharacter_Code_Point}\uFFF9-\uFFFB]|(?<!\u{1F3F4}[\u{E0020}-\u{E007F}]*)(?![\u061C\u200C-\u200F\u202A-\u202E\u2066-\u2069])(?=\p{Default_Ignorable_Code_Point})\p{Cf}/u
/** A reader sees something: spaces, and letters that are drawn as nothing, are no name. */
const VISIBLE = /(?![\p{Default_Ignorable_Code_Point}\u2800])[\p{L}\p{N}\p{P}\p{S}]/u

/** The rule for every name that comes in: it is one line, and looks like no other one. Answers have names as they are: older ones stay readable. */
export const newName = (max: number, min = 1) =>
  z
    .string()
    .overwrite(name => name.replaceAll(/\s+/g, ' '))
    .trim()
    .min(min)
    // What is too long is not looked at: the patterns below may take its length squared.
    .max(max, { abort: true })
    .refine(name => name === '' || VISIBLE.test(name), 'This needs a letter or a sign that can be seen.')
    .refine(
      name => !TURNING.test(name),
      'This holds a hidden sign that turns the direction of writing: type it anew.',
    )
    .refine(name => !UNSEEN.test(name), 'This holds a sign that cannot be seen: type it anew.')
    .describe(
      'Has something that can be seen, no sign that cannot, and none that turns the direction of writing; blanks and line ends count as one space',
    )
