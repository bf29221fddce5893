import type { ImportStep, RowError } from '../../../db/queries/imports.ts'
import { listed, quote } from '../../sheets/quotes.ts'
import { MAX_MESSAGE_CHARACTERS, MAX_REPORT_CHARACTERS, MAX_ROW_ERRORS } from './limits.ts'

/** All that is said of a field to whoever may not see it. */
export const OF_HIDDEN_FIELD: RowError = {
  field: null,
  value: null,
  message: 'A field that your role may not see is wrong: ask somebody who may see it.',
}

/** In which fields a row differs from its record, at the end of a sentence. */
export const differingIn = (labels: readonly string[]) =>
  labels.length > 0 ? `, and it differs in ${listed(labels)}` : ''
/** The sentence for who may not see all of them. */
export const withoutDifferences = (message: string) =>
  message.replace(/, and it differs in .*$/s, ', and it differs.')

/** What is left to say of a row. */
const MORE: RowError = { field: null, value: null, message: 'And more of this row is wrong.' }

/** What is said of a row: as much of it as is kept and shown, in characters that can be stored. */
export function reportOf(errors: readonly RowError[]): RowError[] {
  const report = errors.slice(0, MAX_ROW_ERRORS).map(({ field, value, message }) => ({
    field,
    value: value === null ? null : quote(value),
    message: quote(message, MAX_MESSAGE_CHARACTERS),
  }))
  return errors.length > report.length ? [...report, MORE] : report
}

type Failed = ImportStep['failed']

/** What is kept of failed rows where so many characters are kept already, and how many they are then. */
export function keepReport(failed: Failed, before: number): { failed: Failed; characters: number } {
  const kept =
    before < MAX_REPORT_CHARACTERS
      ? failed
      : failed.map(({ row, errors }) => ({ row, errors: brief(errors) }))
  let characters = before
  for (const { errors } of kept)
    for (const { value, message } of errors) characters += (value?.length ?? 0) + message.length
  return { failed: kept, characters }
}

function brief([first, ...more]: readonly RowError[]): RowError[] {
  if (!first) return []
  const { field, value, message } = first
  const short = { field, value: value === null ? null : quote(value, 40), message: quote(message, 100) }
  return more.length > 0 ? [short, MORE] : [short]
}
