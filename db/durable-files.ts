import { randomUUID } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

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

/** A name is durable when its folder is. */
export function syncFolder(path: string): void {
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
