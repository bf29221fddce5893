import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TestDatabase } from '../support/database.ts'
import { cutPower, SURVIVALS } from './power/cuts.ts'
import { Disk, type Op } from './power/disk.ts'
import { type Recording, record } from './power/record.ts'

/** What survives each cut, in order: nothing at the last one, where most has been promised. */
const SURVIVE = ['some of it', 'data without its log', 'nothing'] as const
/** The syncs that the embedded database needs, and those of the files beside it. */
const SYNCS: { [name: string]: (op: Op) => boolean } = {
  'the log': ({ op, path }) => op === 'sync' && path.includes('/pg_wal/'),
  'data files': ({ op, path }) => op === 'sync' && !/\/pg_wal\/|\/pg_control$/.test(path),
  'the control file': ({ op, path }) => op === 'sync' && path.endsWith('/pg_control'),
  'the names of the log': ({ op, path }) => op === 'sync folder' && path.endsWith('/pg_wal'),
  'the files of exports': ({ op }) => op === 'sync whole',
  'their names': ({ op, path }) => op === 'sync folder' && !path.startsWith('postgres/'),
}

describe('An embedded server whose power is cut', () => {
  let database: TestDatabase
  let recording: Recording
  beforeAll(async () => {
    // The directory is empty: the power may fail during the first start.
    const dataDir = mkdtempSync(join(tmpdir(), 'fieldline-test-'))
    const remove = async () => rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 })
    database = { kind: 'pglite', url: undefined, dataDir, remove }
    recording = await record(database, { lives: 2, roundsEach: 1 })
  })
  afterAll(async () => {
    recording.remove()
    await database.remove()
  })

  it('has everything that was acknowledged, whatever else the disk kept', async () => {
    const cuts = SURVIVE.length
    const report = await cutPower(recording, { cuts, seed: 1, survivals: SURVIVE })
    expect(report).toEqual({
      cuts,
      promised: report.promised,
      lost: 0,
      invented: 0,
      broken: 0,
      complaints: [],
    })
    expect(report.promised).toBeGreaterThan(50)
  })

  it('repeats its first start, or has completed it, if that was cut off', async () => {
    const renamed = recording.ops.findIndex(({ op, to }) => op === 'rename' && to === 'postgres')
    expect(recording.ops[renamed + 1]).toMatchObject({ op: 'sync folder', path: '' })
    const moments = [renamed / 2, renamed, renamed + 1, renamed + 2].map(Math.floor)
    const survivals = ['everything', 'everything', 'nothing', 'nothing'] as const
    const report = await cutPower(recording, { moments, seed: 1, survivals })
    expect([report.cuts, report.complaints]).toEqual([4, []])

    const forgets = ({ op, path }: Op) => op === 'sync' && path.startsWith('postgres.draft/')
    const forgetful = await cutPower(recording, {
      moments: [renamed + 2],
      seed: 1,
      survivals: ['nothing'],
      forgets,
    })
    expect(forgetful.broken).toBe(1)
  })

  it.each(Object.keys(SYNCS))('would have lost something without a sync of %s', async name => {
    const moments = [recording.ops.length]
    const report = await cutPower(recording, {
      moments,
      seed: 1,
      survivals: ['nothing'],
      forgets: SYNCS[name],
    })
    expect(report.lost + report.broken).toBeGreaterThan(0)
  })

  it('was recorded completely: with all writes the disk equals the directory', () => {
    const disk = new Disk(recording.base)
    for (const [order, op] of recording.ops.entries()) disk.apply(op, order)
    const folder = mkdtempSync(join(tmpdir(), 'fieldline-whole-'))
    disk.write(folder, SURVIVALS.everything())
    const list = (path: string) =>
      readdirSync(path, { recursive: true, withFileTypes: true })
        .filter(entry => entry.isFile())
        .map(entry => join(entry.parentPath, entry.name).slice(path.length))
        .sort()
    expect(list(folder)).toEqual(list(database.dataDir))
    const differing = list(folder).filter(
      name => !readFileSync(folder + name).equals(readFileSync(database.dataDir + name)),
    )
    expect(differing).toEqual([])
    rmSync(folder, { recursive: true })
  })
})
