import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { lockDirectory } from '../../db/drivers/directory-lock.ts'

const CONTENDER = resolve(import.meta.dirname, '../support/lock-contender.mjs')
const DIRECTORIES = 150
const CONTENDERS = 6

describe('The lock of a directory', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'fieldline-test-'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  /** A process that tries every directory at its moment. Which ones it holds, as long as it lives. */
  async function contend(beginsAt: number): Promise<{ held: number[]; kill(): Promise<unknown> }> {
    const child = fork(CONTENDER, [folder, `${DIRECTORIES}`, `${beginsAt}`])
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

  it('is held by one of many processes that find its holder dead at once', async () => {
    const first = await contend(Date.now())
    expect(first.held).toHaveLength(DIRECTORIES)
    await first.kill()
    const beginsAt = Date.now() + 1_000
    const contenders = await Promise.all(Array.from({ length: CONTENDERS }, () => contend(beginsAt)))
    const held = contenders.flatMap(contender => contender.held).sort((a, b) => a - b)
    await Promise.all(contenders.map(contender => contender.kill()))
    expect(held).toEqual(Array.from({ length: DIRECTORIES }, (_, index) => index))
  })

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

  it('is not lost where nobody can look: without a free descriptor, and with one it is as it was', async () => {
    const program = resolve(import.meta.dirname, '../support/lock-without-descriptors.mjs')
    const child = fork(program, [join(folder, 'database')])
    const [said] = (await once(child, 'message')) as [object]
    expect(said).toEqual({ before: 'held', without: 'unknown', again: 'held', gone: 'lost' })
  })
})
