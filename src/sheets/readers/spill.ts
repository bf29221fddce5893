import { randomUUID } from 'node:crypto'
import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs'

/**
 * Bytes that are appended and read at any position: the first ones are in memory, further ones in an unnamed file. It
 * takes the given memory and 2 MiB, however many bytes are appended.
 */
export interface Spill {
  /** The number of bytes. */
  size(): number
  append(bytes: Uint8Array): void
  /** Reads bytes, which are valid until the next call. */
  read(at: number, length: number): Buffer
  close(): void
}

const PAGE_BYTES = 16 * 1024
/** The number of file pages in the cache, one for each remainder: cells mostly refer to texts in order. */
const KEPT_PAGES = 128

export function createSpill(besidePath: string, memoryBytes: number): Spill {
  const memoryPages = Math.floor(memoryBytes / PAGE_BYTES)
  const memory: Buffer[] = []
  const kept: { number: number; bytes: Buffer }[] = []
  let file: number | undefined
  let size = 0
  let last = Buffer.alloc(0)

  const open = () => {
    const path = `${besidePath}.${randomUUID()}.spill`
    const opened = openSync(path, 'wx+', 0o600)
    rmSync(path)
    return opened
  }
  /** Starts the next page, which stays in memory, or goes to the file when it is full. */
  const begin = (number: number) => {
    if (number < memoryPages) {
      last = Buffer.allocUnsafeSlow(PAGE_BYTES)
      memory.push(last)
      return
    }
    if (number === memoryPages) last = Buffer.allocUnsafeSlow(PAGE_BYTES)
    else {
      file ??= open()
      writeSync(file, last, 0, PAGE_BYTES, (number - 1 - memoryPages) * PAGE_BYTES)
    }
  }
  const pageOf = (number: number): Buffer => {
    if (number < memoryPages) return memory[number] as Buffer
    if (number === Math.floor((size - 1) / PAGE_BYTES)) return last
    const slot = number % KEPT_PAGES
    const found = kept[slot]
    if (found?.number === number) return found.bytes
    const bytes = found?.bytes ?? Buffer.allocUnsafeSlow(PAGE_BYTES)
    readSync(file as number, bytes, 0, PAGE_BYTES, (number - memoryPages) * PAGE_BYTES)
    kept[slot] = { number, bytes }
    return bytes
  }

  return {
    size: () => size,
    append(bytes) {
      for (let from = 0; from < bytes.length; ) {
        const at = size % PAGE_BYTES
        if (at === 0) begin(size / PAGE_BYTES)
        const some = bytes.subarray(from, from + PAGE_BYTES - at)
        last.set(some, at)
        from += some.length
        size += some.length
      }
    },
    read(at, length) {
      const first = at % PAGE_BYTES
      const number = Math.floor(at / PAGE_BYTES)
      if (length === 0) return Buffer.alloc(0)
      if (first + length <= PAGE_BYTES) return pageOf(number).subarray(first, first + length)
      const whole = Buffer.allocUnsafe(length)
      for (let done = 0; done < length; ) {
        const from = (at + done) % PAGE_BYTES
        done += pageOf(Math.floor((at + done) / PAGE_BYTES)).copy(whole, done, from, from + length - done)
      }
      return whole
    },
    close() {
      if (file !== undefined) closeSync(file)
      file = undefined
    },
  }
}
