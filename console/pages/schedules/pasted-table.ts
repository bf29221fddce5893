/** The columns of a pasted table of schedules, in the order in which one without headings has them. */
export const COLUMNS = [
  'name',
  'repeats',
  'interval',
  'days',
  'start',
  'until',
  'timezone',
  'minutes',
  'assignee',
  'vehicle',
  'team',
  'hub',
] as const
export type ColumnName = (typeof COLUMNS)[number]

/** One request creates this many, and so does one pasted table. */
export const MAX_ROWS = 500
/** A spreadsheet with longer cells is no table of schedules. */
const MAX_CELL = 500
/** More text than 500 rows of usual length have. */
export const MAX_PASTED = 1_000_000

/** A row that was pasted, by the names of its columns. */
export interface PastedRow {
  id: number
  cells: Partial<Record<ColumnName, string>>
}

/** Headings in English and German, and the names of the interface, without case, spaces and signs. */
const HEADINGS: Record<ColumnName, readonly string[]> = {
  name: ['name', 'task', 'title', 'aufgabe', 'bezeichnung', 'titel'],
  repeats: ['repeats', 'repeat', 'frequency', 'every', 'wiederholung', 'haufigkeit', 'turnus', 'rhythmus'],
  interval: ['interval', 'intervall', 'abstand'],
  days: ['days', 'day', 'on', 'weekdays', 'byweekday', 'bymonthday', 'tage', 'tag', 'wochentage', 'am'],
  start: ['start', 'from', 'begin', 'starttime', 'begins', 'von', 'beginn', 'ab'],
  until: ['until', 'end', 'endtime', 'ends', 'to', 'bis', 'ende'],
  timezone: ['timezone', 'zone', 'zeitzone'],
  minutes: ['minutes', 'duration', 'durationmin', 'dauer', 'minuten', 'dauermin'],
  assignee: ['assignee', 'person', 'driver', 'user', 'zustandig', 'fahrer', 'bearbeiter'],
  vehicle: ['vehicle', 'van', 'plate', 'fahrzeug', 'kennzeichen'],
  team: ['team'],
  hub: ['hub', 'depot', 'standort'],
}

const plain = (text: string) =>
  text
    .normalize('NFD')
    .toLowerCase()
    .replace(/[^a-z]/g, '')

const columnOf = (heading: string): ColumnName | undefined =>
  COLUMNS.find(name => HEADINGS[name].includes(plain(heading)))

/**
 * Splits text as spreadsheets copy it: cells between tabs, rows between line ends, and cells with either of them in quotation marks.
 */
export function splitCells(text: string): string[][] {
  const rows: string[][] = [[]]
  let cell = ''
  let isQuoted = false
  const endCell = () => {
    rows.at(-1)?.push(cell.trim().slice(0, MAX_CELL))
    cell = ''
  }
  for (let at = 0; at < text.length; at++) {
    const sign = text[at] as string
    if (isQuoted) {
      if (sign !== '"') cell += sign
      else if (text[at + 1] === '"') {
        cell += '"'
        at++
      } else isQuoted = false
    } else if (sign === '"' && cell === '') isQuoted = true
    else if (sign === '\t') endCell()
    else if (sign === '\n') {
      endCell()
      rows.push([])
    } else if (sign !== '\r') cell += sign
  }
  endCell()
  return rows.filter(row => row.some(value => value !== ''))
}

export interface PastedTable {
  columns: ColumnName[]
  rows: PastedRow[]
  /** Headings that no column has: their cells are left out. */
  unknown: string[]
  /** Rows beyond those that one request creates. */
  tooMany: number
}

/** Reads a pasted table. Its first row has headings where it names any column but the first as one. */
export function readTable(text: string, firstId = 0): PastedTable {
  const [first = [], ...others] = splitCells(text.slice(0, MAX_PASTED))
  const named = first.map(columnOf)
  const hasHeadings = named.filter(name => name !== undefined).length > 1 || named[0] === 'name'
  const columns: (ColumnName | undefined)[] = hasHeadings ? named : [...COLUMNS]
  const all = hasHeadings ? others : [first, ...others].filter(row => row.length > 0)
  const rows = all.slice(0, MAX_ROWS).map((values, index): PastedRow => {
    // The first of two columns with one heading counts.
    const entries = values.flatMap((value, at) =>
      columns[at] !== undefined && columns.indexOf(columns[at]) === at ? [[columns[at], value]] : [],
    )
    return { id: firstId + index, cells: Object.fromEntries(entries) }
  })
  const unknown = hasHeadings ? first.filter((heading, at) => heading !== '' && named[at] === undefined) : []
  const width = Math.max(0, ...all.map(row => row.length))
  const shown = new Set(hasHeadings ? columns : columns.slice(0, width))
  return {
    columns: COLUMNS.filter(name => shown.has(name) || ['name', 'repeats', 'start'].includes(name)),
    rows,
    unknown,
    tooMany: Math.max(0, all.length - MAX_ROWS),
  }
}
