import { fork } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type DirectoryLock, lockDirectory } from '../../db/drivers/directory-lock.ts'
import { until } from '../support/wait.ts'

const CONTENDER = resolve(import.meta.dirname, '../support/lock-contender.mjs')
const LOCKS = {
  today: resolve(import.meta.dirname, '../../dist/db/drivers/directory-lock.js'),
  first: resolve(import.meta.dirname, '../data/locks/first.mjs'),
  second: resolve(import.meta.dirname, '../data/locks/second.mjs'),
}
type Release = keyof typeof LOCKS
const DIRECTORIES = 60

describe('The lock of a directory', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'fieldline-test-'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  /** A process that tries every directory at its moment. It reports those that it holds while it lives. */
  async function contend(
    release: Release,
    beginsAt: number,
  ): Promise<{ held: number[]; kill(): Promise<unknown> }> {
    const child = fork(CONTENDER, [LOCKS[release], folder, `${DIRECTORIES}`, `${beginsAt}`])
    const ended = once(child, 'exit').then(([code]) =>
      Promise.reject(new Error(`a contender ended with ${code}`)),
    )
    ended.catch(() => {})
    const [held] = (await Promise.race([once(child, 'message'), ended])) as [number[]]
    return {
      held,
      async kill() {
        const gone = once(child, 'exit')
        child.kill('SIGKILL')
        await gone
      },
    }
  }

  // One of the first releases that finds a dead holder takes the file of a faster process, which then yields (below).
  // The second ones never recognize the first.
  it.each<[Release, Release[]]>([
    ['today', ['today', 'today', 'second', 'second']],
    ['first', ['today', 'today', 'today', 'today']],
  ])(
    'is held by one of many processes that find its holder of the release "%s" dead at once, among %j',
    async (before, releases) => {
      const first = await contend(before, Date.now())
      expect(first.held).toHaveLength(DIRECTORIES)
      await first.kill()
      const beginsAt = Date.now() + 1_000
      const contenders = await Promise.all(releases.map(release => contend(release, beginsAt)))
      const held = contenders.flatMap(contender => contender.held).sort((a, b) => a - b)
      await Promise.all(contenders.map(contender => contender.kill()))
      expect(held).toEqual(Array.from({ length: DIRECTORIES }, (_, index) => index))
    },
  )

  it('is free when its holder has let go, however often, and leaves no drafts', async () => {
    const directory = join(folder, 'database')
    for (let turn = 0; turn < 2; turn++) {
      const lock = await lockDirectory(directory)
      expect(lock.look()).toBe('held')
      await expect(lockDirectory(directory)).rejects.toThrow(/is in use by process \d+ .* DATA_DIR/)
      lock.release()
      expect(lock.look()).toBe('lost')
    }
    expect(readdirSync(folder)).toHaveLength(2)
  })

  it.each(['first', 'second'] as const)(
    'is refused by a release with the lock "%s" while this one holds it, and the other way round',
    async release => {
      const directory = join(folder, 'database')
      const old = (await import(LOCKS[release])) as { lockDirectory: typeof lockDirectory }
      const mine = await lockDirectory(directory)
      await expect(old.lockDirectory(directory)).rejects.toThrow(/is in use by process \d+ .* DATA_DIR/)
      mine.release()
      const theirs = await old.lockDirectory(directory)
      await expect(lockDirectory(directory)).rejects.toThrow(/is in use by process \d+ .* DATA_DIR/)
      theirs.release()
      const again = await lockDirectory(directory)
      expect(again.look()).toBe('held')
      again.release()
    },
  )

  describe('towards the first releases', () => {
    /** Makes the next look read the files again. */
    const lookLater = (lock: DirectoryLock) => {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 })
      try {
        return lock.look()
      } finally {
        vi.useRealTimers()
      }
    }
    const renewed = (path: string) => until('renewed', () => existsSync(path))

    it('creates its file again where somebody deletes it, and yields where an old release has put its own there', async () => {
      const directory = join(folder, 'database')
      const path = `${directory}.lock`
      const lock = await lockDirectory(directory)
      const text = readFileSync(path, 'utf8')
      rmSync(path)
      await renewed(path)
      expect(readFileSync(path, 'utf8')).toBe(text)
      writeFileSync(path, JSON.stringify({ ...JSON.parse(text), pid: 1, host: 'elsewhere' }))
      expect(lookLater(lock)).toBe('lost')
      lock.release()
      expect(JSON.parse(readFileSync(path, 'utf8')).host).toBe('elsewhere')
    })

    it('is lost where its file is gone after it could not renew it: an old release may have come and gone', async () => {
      const lock = await lockDirectory(join(folder, 'database'))
      rmSync(join(folder, 'database.lock'))
      expect(lookLater(lock)).toBe('lost')
      lock.release()
    })

    it.each([
      ['a holder elsewhere', '{"host":"elsewhere","boot":"other","namespace":"other","pid":1,"started":"1"}'],
      ['no holder yet', ''],
    ])('believes a file with %s while it is young, and no longer', async (_, text) => {
      const directory = join(folder, 'database')
      writeFileSync(`${directory}.lock`, text)
      await expect(lockDirectory(directory)).rejects.toThrow(/is in use by|is being taken into use/)
      const old = Date.now() / 1_000 - 11
      utimesSync(`${directory}.lock`, old, old)
      const lock = await lockDirectory(directory)
      expect(lock.look()).toBe('held')
      lock.release()
      expect(existsSync(`${directory}.lock`)).toBe(false)
    })
  })

  it('is not lost where nobody can look: without a free descriptor, and with one it is as it was', async () => {
    const program = resolve(import.meta.dirname, '../support/lock-without-descriptors.mjs')
    const child = fork(program, [join(folder, 'database')])
    const [said] = (await once(child, 'message')) as [object]
    expect(said).toEqual({ before: 'held', without: 'unknown', again: 'held', gone: 'lost' })
  })
})
