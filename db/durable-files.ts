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
 * Creates a file for its owner only, whole or not at all: it is written beside its name, synced, and renamed then, so
 * that neither a crash nor another process ever sees half of it. Returns false if the file exists already.
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

/** Like `createFile`, but replaces an existing file. */
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

/** Creates a missing folder with its parents, and makes all their names durable. */
export function createFolder(path: string, mode?: number): void {
  const highest = mkdirSync(path, { recursive: true, mode })
  if (highest === undefined) return
  for (let folder = path; folder.length >= highest.length; folder = dirname(folder)) {
    syncFolder(dirname(folder))
  }
}

/** Makes the names in a folder durable. */
export function syncFolder(path: string): void {
  withDescriptor(path, fsyncSync)
}

/** Makes everything written to a file durable, through whichever descriptor. */
export function syncFile(path: string): void {
  withDescriptor(path, fdatasyncSync)
}

/** Syncs a folder with all its contents. */
export function syncTree(path: string): void {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const below = join(path, entry.name)
    if (entry.isDirectory()) syncTree(below)
    else if (entry.isFile()) syncFile(below)
  }
  syncFolder(path)
}

/**
 * A missing free descriptor says nothing about the disk, and a thread that blocks nobody may try again. On the main
 * thread, nothing would close descriptors meanwhile.
 */
const DESCRIPTOR_WITHIN_MS = 5_000
const DESCRIPTOR_RETRY_MS = 20

function openWithRetry(path: string): number {
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
  const descriptor = openWithRetry(path)
  try {
    sync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
