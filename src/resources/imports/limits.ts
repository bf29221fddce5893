/** The most that one import may cost, beside what reading its spreadsheet may cost (src/sheets/limits.ts). */

/** The file as it is sent: a million rows of CSV are about 100 MB, of XLSX 50. */
export const MAX_FILE_BYTES = 256 * 1024 * 1024
/** One heading: a mapping names it. */
export const MAX_HEADING_CHARACTERS = 500
/**
 * The heap of a thread that reads. It makes up to three copies of a row of 4 million characters, and a batch has 2 million.
 * Texts that cells share, and the values of unique fields, live long: they are outside the heap.
 */
export const READER_HEAP_MB = 96
/** The part of that heap for new objects; the collector copies half of it. */
export const READER_YOUNG_MB = 16
/** The values of unique fields, all together: a million values of each of three. */
export const MAX_SEEN_BYTES = 128 * 1024 * 1024
/**
 * Rows that are stored together. A batch ends before it has as many rows if it has as many characters. Both the thread and
 * the process hold it.
 */
export interface BatchSize {
  rows: number
  characters: number
}
export const BATCH: BatchSize = { rows: 4_000, characters: 2 * 1024 * 1024 }
/**
 * On the embedded database everybody else waits while a batch is stored: 200 rows of five short columns take 25 ms of a
 * processor; as many characters of long texts, whose index holds every three letters, take 50 ms.
 */
export const EMBEDDED_BATCH: BatchSize = { rows: 200, characters: 96 * 1024 }
/** Errors that are kept of one row; the others are counted. In a row of 75 KB two hundred required fields may be wrong. */
export const MAX_ROW_ERRORS = 10
/** One sentence of a report: a label has 200. The record of an import shows a thousand sentences. */
export const MAX_MESSAGE_CHARACTERS = 300
/** Everything that is kept of the failed rows of an import. Of further rows only the first error is kept, shortened. */
export const MAX_REPORT_CHARACTERS = 32 * 1024 * 1024
/** The time between two batches; a thousand rows take 30 ms. */
export const BATCH_WITHIN_MS = 60_000
/** The time to read all of a file, without the time to store its rows; a million rows take 1 to 2 minutes. */
export const READ_WITHIN_MS = 15 * 60_000
/** The time until the header is known, while somebody waits for the answer. */
export const INSPECT_WITHIN_MS = 20_000
/** The time to make a file of failed rows; a million rows of five columns take half a minute of a core. */
export const FAILED_ROWS_WITHIN_MS = 10 * 60_000
/**
 * One file of failed rows, which is on the disk for as long as it is read. A file of Windows-1252 or UTF-16 grows when it is
 * written as UTF-8, and by the sentences that say why each row failed.
 */
export const MAX_FAILED_ROWS_BYTES = 1024 * 1024 * 1024
/** Files that are inspected at once, while somebody waits for each answer. */
export const INSPECTED_AT_ONCE = 2

/** Keys of failed rows that a dry run remembers: it treats rows that refer to one of them as if the failed row had been made. */
export const MAX_MISSED_KEYS = 100_000
