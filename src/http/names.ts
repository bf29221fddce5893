import { z } from 'zod'

/** Embeddings, overrides and isolates: they turn round the words that a page writes beside the name. */
export const TURNING = /[\u202A-\u202E\u2066-\u2069]/
/** A reader sees something: spaces, and letters that are drawn as nothing, are no name. */
const VISIBLE = /(?![\p{Default_Ignorable_Code_Point}\u2800])[\p{L}\p{N}\p{P}\p{S}]/u

/** The rule for every name that comes in. Answers have names as they are: older ones stay readable. */
export const newName = (max: number, min = 1) =>
  z
    .string()
    .trim()
    .min(min)
    .max(max)
    .refine(name => name === '' || VISIBLE.test(name), 'This needs a letter or a sign that can be seen.')
    .refine(
      name => !TURNING.test(name),
      'This holds a hidden sign that turns the direction of writing: type it anew.',
    )
    .describe('Has something that can be seen, and no hidden sign that turns the direction of writing')
