import { once } from 'node:events'
import type { Writable } from 'node:stream'
import type { Worksheet } from 'exceljs'

/** Private parts of exceljs: the stream of a sheet's XML, and the state of the streams that pack it. */
interface SheetStream {
  write(xml: string): void
  /** From readable-stream 2, which does not have `writableNeedDrain` yet. */
  pipes: (Writable & { _writableState: { needDrain: boolean } })[]
}

/**
 * Waits until there is room for more of a sheet's XML. exceljs itself continues to write however much waits to be
 * packed, which was 330 MB with a million rows.
 */
export async function drained(sheet: Worksheet): Promise<void> {
  const { stream } = sheet as unknown as { stream: SheetStream }
  for (const pipe of stream.pipes) if (pipe._writableState.needDrain) await once(pipe, 'drain')
}

/** Opens a sheet for writing XML; each write waits until there is room for more. */
export function openSheet(sheet: Worksheet): { write(xml: string): Promise<void> } {
  const { stream } = sheet as unknown as { stream: SheetStream }
  return {
    write(xml) {
      stream.write(xml)
      return drained(sheet)
    },
  }
}
