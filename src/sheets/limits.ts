/** The maximum cost of reading one spreadsheet. A million rows of twenty columns stay within all limits. */

/** All parts of a workbook together, unpacked: the sheet of a million rows is 400 MB of XML. */
export const MAX_UNPACKED_BYTES = 2 * 1024 * 1024 * 1024
/** The shared texts of a workbook, and the position where each of them ends. */
export const MAX_SHARED_TEXT_BYTES = 192 * 1024 * 1024
/** The part of the shared texts that is kept in memory, outside the heap; the others are on disk. */
export const SHARED_TEXT_MEMORY_BYTES = 12 * 1024 * 1024
/** The maximum rows and columns of a spreadsheet program. */
export const MAX_ROWS = 1_048_576
export const MAX_COLUMNS = 16_384
/** Cells are read one by one, and most of them are not kept. */
export const MAX_CELLS = 64 * 1024 * 1024
/** One cell of a workbook, one text of XML or one JSON record; a text field takes 10,000 characters. */
export const MAX_CELL_CHARACTERS = 256 * 1024
/** One row of a workbook: 200 fields of 10,000 characters are half of it. All its cells may refer to one text of 256 KB. */
export const MAX_ROW_CHARACTERS = 4 * 1024 * 1024
/**
 * One row of CSV, in UTF-8; its cells have no limit of their own. In a row above it, a quotation mark is usually never
 * closed.
 */
export const MAX_ROW_BYTES = 1024 * 1024
/** Nested lists and objects in a JSON record; a value has two levels. Each level takes stack to read and to write. */
export const MAX_NESTED = 64
/** Parts of a workbook: a sheet, its drawings, its comments. */
export const MAX_PARTS = 10_000
