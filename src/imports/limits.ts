/** What one file may cost. A million rows of twenty columns meet none of it. */

/** Of the file as it is sent: a million rows of CSV are about 100 MB, of XLSX 50. */
export const MAX_FILE_BYTES = 256 * 1024 * 1024
/** Of all parts of a workbook together, unpacked: the sheet of a million rows is 400 MB of XML. */
export const MAX_UNPACKED_BYTES = 2 * 1024 * 1024 * 1024
/** Texts that cells share, and where each of them ends. */
export const MAX_SHARED_TEXT_BYTES = 192 * 1024 * 1024
/** Of them, outside the heap; the others are on the disk. */
export const SHARED_TEXT_MEMORY_BYTES = 12 * 1024 * 1024
/** As many as a spreadsheet has. */
export const MAX_ROWS = 1_048_576
export const MAX_COLUMNS = 16_384
/** Read one by one, and of most nothing is kept. */
export const MAX_CELLS = 64 * 1024 * 1024
/** Of one heading: a mapping names it. */
export const MAX_HEADING_CHARACTERS = 500
/** Of one cell of a workbook, a text of XML or a record of JSON: a text field takes 10,000 characters. */
export const MAX_CELL_CHARACTERS = 256 * 1024
/** Of one row of a workbook: 200 fields of 10,000 characters are half of it. Its cells may all refer to one text of 256 KB. */
export const MAX_ROW_CHARACTERS = 4 * 1024 * 1024
/** Of one row of CSV, in UTF-8; a cell of it has no bound of its own. One that goes beyond is mostly a quotation mark that is never closed. */
export const MAX_ROW_BYTES = 1024 * 1024
/** Lists and objects within others, of a record of JSON: a value has two. Reading and writing them takes as much stack. */
export const MAX_NESTED = 64
/** Parts of a workbook: a sheet, its drawings, its comments. */
export const MAX_PARTS = 10_000
/**
 * Of a thread that reads: what it makes of a row has 4 million characters, twice or thrice, and a batch 2 million. What lives long is beside
 * its heap: texts that cells share, and the values of unique fields.
 */
export const READER_HEAP_MB = 96
/** Of that thread for what it has just made, half of which it copies. */
export const READER_YOUNG_MB = 16
/** Values of unique fields, all of them together: a million values of each of three. */
export const MAX_SEEN_BYTES = 128 * 1024 * 1024
/** Rows that are stored together: fewer where they, with all that is sent of them, have as many characters. They are held twice, here and there. */
export interface BatchSize {
  rows: number
  characters: number
}
export const BATCH: BatchSize = { rows: 4_000, characters: 2 * 1024 * 1024 }
/**
 * On the embedded database nobody else gets a turn while a batch is stored: 200 rows of five short columns take 25 ms of a processor,
 * and of long texts, of which an index holds every three letters, so many characters 50 ms.
 */
export const EMBEDDED_BATCH: BatchSize = { rows: 200, characters: 96 * 1024 }
/** What is said of one row; more is counted. Two hundred required fields are wrong in each of a million rows of 75 KB. */
export const MAX_ROW_ERRORS = 10
/** Of one sentence: a label has 200. A thousand are shown in the record of an import. */
export const MAX_MESSAGE_CHARACTERS = 300
/** Of all that is kept of an import's failed rows. Of further ones the first error alone is told, in short. */
export const MAX_REPORT_CHARACTERS = 32 * 1024 * 1024
/** Between two batches; a thousand rows take 30 ms. */
export const BATCH_WITHIN_MS = 60_000
/** For all of a file, beside what is done with its rows; a million rows take 1 to 2 minutes. */
export const READ_WITHIN_MS = 15 * 60_000
/** Until the header is known, while somebody waits for the answer. */
export const INSPECT_WITHIN_MS = 20_000
/** For a file of failed rows; a million of five columns take half a minute of a core. */
export const FAILED_ROWS_WITHIN_MS = 10 * 60_000
/** Of one, which is on the disk for as long as it is read: a file of Windows-1252 or UTF-16 grows when it is written as UTF-8, and by what is wrong with its rows. */
export const MAX_FAILED_ROWS_BYTES = 1024 * 1024 * 1024
/** Files that are looked into at once, for whoever waits for an answer. */
export const INSPECTED_AT_ONCE = 2

/** Keys that a dry run remembers of rows which fail: a row that refers to one after them is told as if it were made. */
export const MAX_MISSED_KEYS = 100_000
