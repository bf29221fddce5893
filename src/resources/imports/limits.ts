/** The maximum cost of one import, besides the cost of reading its spreadsheet (src/sheets/limits.ts). */

/** The file as sent: a million rows of CSV are about 100 MB, of XLSX 50. */
export const MAX_FILE_BYTES = 256 * 1024 * 1024
/** One heading, which mappings refer to. */
export const MAX_HEADING_CHARACTERS = 500
/**
 * The heap of a thread that reads. It makes up to three copies of a row of 4 million characters, and a batch has 2
 * million. Shared texts and the values of unique fields live long, so they are outside the heap.
 */
export const READER_HEAP_MB = 96
/** The part of that heap for new objects; the collector copies half of it. */
export const READER_YOUNG_MB = 16
/** The values of unique fields, all together: a million values of each of three. */
export const MAX_SEEN_BYTES = 128 * 1024 * 1024
/** Stored errors of one row; the others are only counted. In a row of 75 KB two hundred required fields may be wrong. */
export const MAX_ROW_ERRORS = 10
/** One sentence of a report; a label has 200 characters. The record of an import shows a thousand sentences. */
export const MAX_MESSAGE_CHARACTERS = 300
/** All stored errors of an import. Beyond it only the first error of a row is stored, shortened. */
export const MAX_REPORT_CHARACTERS = 32 * 1024 * 1024
/** An import fails if its next batch of rows takes longer; reading a thousand rows takes 30 ms. */
export const BATCH_WITHIN_MS = 60_000
/** The time to read the whole file, without the time to store its rows; a million rows take 1 to 2 minutes. */
export const READ_WITHIN_MS = 15 * 60_000
/** The time until the header is read, while the client waits for the answer. */
export const INSPECT_WITHIN_MS = 20_000
/** The time to write a file of failed rows; a million rows of five columns take half a minute of a core. */
export const FAILED_ROWS_WITHIN_MS = 10 * 60_000
/**
 * One file of failed rows, which stays on disk while a client reads it. A file of Windows-1252 or UTF-16 grows when it
 * is written as UTF-8, and by the errors of each row.
 */
export const MAX_FAILED_ROWS_BYTES = 1024 * 1024 * 1024
/** Files that are inspected at once, each while a client waits. */
export const INSPECTED_AT_ONCE = 2

/**
 * Keys of failed rows that a dry run remembers. References to further ones count as if the failed row had created a
 * record.
 */
export const MAX_MISSED_KEYS = 100_000
