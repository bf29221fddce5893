import type { ImportStep, RowError } from '../../../db/queries/imports.ts'
import { listed, quote } from '../../sheets/quotes.ts'
import { MAX_MESSAGE_CHARACTERS, MAX_REPORT_CHARACTERS, MAX_ROW_ERRORS } from './limits.ts'

/** The error about a field that the reader of a report may not see. */
export const OF_HIDDEN_FIELD: RowError = {
  field: null,
  value: null,
  message: 'A field that your role may not see is wrong: ask somebody who may see it.',
}

/** The end of a sentence that names the fields in which a row differs from its record. */
export const differingIn = (labels: readonly string[]) =>
  labels.length > 0 ? `, and it differs in ${listed(labels)}` : ''
/** The same sentence without field names, for readers who may not see all of them. */
export const withoutDifferences = (message: string) =>
  message.replace(/, and it differs in .*$/s, ', and it differs.')

/** Replaces the errors of a row beyond the maximum. */
const MORE: RowError = { field: null, value: null, message: 'And more of this row is wrong.' }

/** The stored errors of a row: a limited number of them, in storable characters. */
export function reportOf(errors: readonly RowError[]): RowError[] {
  const report = errors.slice(0, MAX_ROW_ERRORS).map(({ field, value, message }) => ({
    field,
    value: value === null ? null : quote(value),
    message: quote(message, MAX_MESSAGE_CHARACTERS),
  }))
  return errors.length > report.length ? [...report, MORE] : report
}

type Failed = ImportStep['failed']

/**
 * Shortens the errors of failed rows if too many characters are stored already. Returns them with the new number of
 * characters.
 */
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
