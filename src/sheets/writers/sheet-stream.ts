import { once } from 'node:events'
import type { Writable } from 'node:stream'
import type { Worksheet } from 'exceljs'

/** Private parts: what the XML of a sheet goes to in exceljs, and how full the streams are that pack it. */
interface SheetStream {
  write(xml: string): void
  /** Of readable-stream 2, which does not have `writableNeedDrain` yet. */
  pipes: (Writable & { _writableState: { needDrain: boolean } })[]
}

/**
 * Waits until there is room for more of a sheet's XML: exceljs itself writes on however much waits to be packed, which was 330 MB of a
 * million rows.
 */
export async function drained(sheet: Worksheet): Promise<void> {
  const { stream } = sheet as unknown as { stream: SheetStream }
  for (const pipe of stream.pipes) if (pipe._writableState.needDrain) await once(pipe, 'drain')
}

/** What the XML of a sheet is written to, each time until there is room for more. */
export function openSheet(sheet: Worksheet): { write(xml: string): Promise<void> } {
  const { stream } = sheet as unknown as { stream: SheetStream }
  return {
    write(xml) {
      stream.write(xml)
      return drained(sheet)
    },
  }
}
