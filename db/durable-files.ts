import { randomUUID } from 'node:crypto'
import {
  closeSync,
  fdatasyncSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { isMainThread } from 'node:worker_threads'

/**
 * Creates a file for its owner alone, whole or not at all: written beside its name, synced, and given its name then, so
 * that neither a crash nor another process ever shows half of it. False where there is one already.
 */
export function createFile(path: string, text: string): boolean {
  return withDraft(path, text, draft => {
    try {
      linkSync(draft, path)
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      return false
    }
  })
}

/** Like `createFile`, in the place of whatever is there. */
export function replaceFile(path: string, text: string): void {
  withDraft(path, text, draft => renameSync(draft, path))
}

function withDraft<T>(path: string, text: string, place: (draft: string) => T): T {
  const draft = `${path}.${randomUUID()}`
  try {
    const file = openSync(draft, 'wx', 0o600)
    try {
      writeSync(file, text)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    const result = place(draft)
    syncFolder(dirname(path))
    return result
  } finally {
    rmSync(draft, { force: true })
  }
}

/** Creates a folder where there is none, with those above it; all of their names are durable then. */
export function createFolder(path: string, mode?: number): void {
  const highest = mkdirSync(path, { recursive: true, mode })
  if (highest === undefined) return
  for (let folder = path; folder.length >= highest.length; folder = dirname(folder)) {
    syncFolder(dirname(folder))
  }
}

/** A name is durable when its folder is. */
export function syncFolder(path: string): void {
  withDescriptor(path, fsyncSync)
}

/** What was written to it is durable then, by whatever descriptor. */
export function syncFile(path: string): void {
  withDescriptor(path, fdatasyncSync)
}

/** A folder with all that is in it. */
export function syncTree(path: string): void {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const below = join(path, entry.name)
    if (entry.isDirectory()) syncTree(below)
    else if (entry.isFile()) syncFile(below)
  }
  syncFolder(path)
}

/**
 * That no descriptor is free says nothing of the disk: a thread that holds nobody up asks again. The main thread would have
 * to close what has them.
 */
const DESCRIPTOR_WITHIN_MS = 5_000
const DESCRIPTOR_RETRY_MS = 20

function openPatiently(path: string): number {
  const deadline = performance.now() + DESCRIPTOR_WITHIN_MS
  for (;;) {
    try {
      return openSync(path, 'r')
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException
      if (isMainThread || !/^E[MN]FILE$/.test(code) || performance.now() > deadline) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, DESCRIPTOR_RETRY_MS)
    }
  }
}

function withDescriptor(path: string, sync: (descriptor: number) => void): void {
  const descriptor = openPatiently(path)
  try {
    sync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
