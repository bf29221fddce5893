import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openBasemap } from '../../src/basemap/open.ts'
import { readBasemap } from '../../src/basemap/setting.ts'
import { type Basemap, BasemapAway, type TileAddress } from '../../src/basemap/tiles.ts'
import {
  type Behaviour,
  ELSEWHERE,
  type RemoteArchive,
  startRemoteArchive,
  TOOLANGI,
  VILLAGE,
} from '../support/remote-archive.ts'
import { until } from '../support/wait.ts'

const DAY_S = 24 * 3_600

describe('The basemap of an archive that another server holds', () => {
  let remote: RemoteArchive
  let dataDir: string
  let log: { level: number; msg: string }[]
  const opened: Basemap[] = []

  const open = async (url: string, cacheMb = 10): Promise<Basemap> => {
    const lines = new Writable({
      write(line, _encoding, done) {
        log.push(JSON.parse(line))
        done()
      },
    })
    const setting = readBasemap(url)
    if (typeof setting === 'string') throw new Error(setting)
    const basemap = await openBasemap({ basemap: setting, dataDir, basemapCacheMb: cacheMb }, pino(lines))
    opened.push(basemap)
    return basemap
  }
  const read = (basemap: Basemap, tile: TileAddress) => basemap.read(tile, 'somebody')
  const known = async (basemap: Basemap) => {
    await until('the archive is known', () => basemap.about !== null)
    return basemap
  }
  /** The same tile of the file itself. */
  const original = async (tile: TileAddress) => read(await open(TOOLANGI), tile)
  const files = () =>
    readdirSync(join(dataDir, 'basemap'), { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => join(entry.parentPath, entry.name))
  const warnings = () => log.filter(({ level }) => level >= 40)

  beforeAll(async () => {
    remote = await startRemoteArchive()
  })
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'fieldline-basemap-'))
    Object.assign(remote, { behaviour: 'well', etag: '"first"', asked: [], most: 0 })
    log = []
  })
  afterEach(async () => {
    for (const basemap of opened.splice(0)) await basemap.close()
    rmSync(dataDir, { recursive: true })
  })
  afterAll(() => remote.close())

  it('is read piece by piece: the tiles are those of the file, and each is asked for once', async () => {
    const basemap = await known(await open(remote.url('a')))
    expect(basemap.about).toMatchObject({ vector: true, minZoom: 0, maxZoom: 15 })
    const tile = await read(basemap, VILLAGE)
    expect(tile?.length).toBeGreaterThan(500)
    expect(tile).toEqual(await original(VILLAGE))
    const { length } = remote.asked
    expect(await read(basemap, VILLAGE)).toEqual(tile)
    // That there is no tile is known by the directory, and kept as well.
    expect(await read(basemap, { z: 14, x: 1, y: 1 })).toBeNull()
    expect(remote.asked.length).toBe(length)
    expect(files().length).toBe(3)
  })

  it('is known once the note of it is on the disk, so that no tile is kept before the note', async () => {
    await known(await open(remote.url('a')))
    expect(files().map(path => path.slice(path.lastIndexOf('/') + 1))).toEqual(['about.json'])
  })

  it('is there without the other server once it was looked at, also for a process that starts later', async () => {
    const tile = await read(await known(await open(remote.url('a'))), VILLAGE)
    remote.behaviour = 'failing'
    const later = await open(remote.url('a'))
    expect(await read(later, VILLAGE)).toEqual(tile)
    expect(later.about).toMatchObject({ maxZoom: 15 })
    await expect(read(later, ELSEWHERE)).rejects.toThrow(BasemapAway)
    expect(await later.list(14, 10)).toEqual([VILLAGE])
  })

  it.each<Behaviour>([
    'failing',
    'silent',
    'half',
    'endless',
    'crumbling',
    'another range',
    'no ranges',
    'changing',
  ])(
    'goes on with the kept tiles while the other server is %s, says so once, and takes it back',
    async behaviour => {
      const basemap = await known(await open(remote.url('a')))
      const tile = await read(basemap, VILLAGE)
      remote.behaviour = behaviour
      for (const { z, x, y } of [ELSEWHERE, ELSEWHERE]) {
        await expect(read(basemap, { z, x, y })).rejects.toThrow(BasemapAway)
        expect(await read(basemap, VILLAGE)).toEqual(tile)
      }
      await until('it is said', () => warnings().length > 0)
      remote.behaviour = 'well'
      await until('the other tile is there', () =>
        read(basemap, ELSEWHERE).then(
          bytes => bytes !== null,
          () => false,
        ),
      )
      expect(await read(basemap, ELSEWHERE)).toEqual(await original(ELSEWHERE))
      expect(warnings().map(({ msg }) => msg)).toEqual([
        'The basemap’s server fails: the map goes on with the tiles that are kept',
      ])
      expect(log.at(-1)?.msg).toBe('The basemap’s server answers again')
    },
  )

  it('is not read where it is shorter than its header says, and says so in a sentence until it is whole', async () => {
    remote.behaviour = 'cut off'
    const basemap = await open(remote.url('a'))
    await until('it is said', () => warnings().length > 0)
    expect(basemap.about).toBeNull()
    expect(warnings().map(({ msg }) => msg)).toEqual([
      expect.stringMatching(
        /^The map goes on with the tiles that are kept: the archive is cut off: it has \d+ of \d+ bytes$/,
      ),
    ])
    remote.behaviour = 'well'
    await known(basemap)
  })

  it('is there as soon as the other server is, where that was away at the start', async () => {
    remote.behaviour = 'failing'
    const basemap = await open(remote.url('a'))
    await until('it was asked', () => remote.asked.length > 0)
    expect(basemap.about).toBeNull()
    remote.behaviour = 'well'
    await known(basemap)
  })

  it('reads kept tiles again when the archive is another one, and shows them meanwhile', async () => {
    const basemap = await known(await open(remote.url('a')))
    const { version } = basemap.about ?? {}
    const tile = await read(basemap, VILLAGE)
    remote.etag = '"second"'
    await read(basemap, ELSEWHERE)
    expect(basemap.about?.version).not.toBe(version)
    const { length } = remote.asked
    expect(await read(basemap, VILLAGE)).toEqual(tile)
    await until('the tile is asked for again', () => remote.asked.length > length)
    expect(warnings()).toEqual([])
  })

  it('reads a kept tile again that is older than a week', async () => {
    const basemap = await known(await open(remote.url('a')))
    await read(basemap, VILLAGE)
    const [path = ''] = files().filter(name => name.endsWith(`${VILLAGE.x}-${VILLAGE.y}`))
    const { mtimeMs } = statSync(path)
    utimesSync(path, mtimeMs / 1_000, mtimeMs / 1_000 - 8 * DAY_S)
    await read(basemap, VILLAGE)
    await until('it is a new one', () => statSync(path).mtimeMs >= mtimeMs)
  })

  it('takes nothing for a tile that a power cut left empty', async () => {
    const basemap = await known(await open(remote.url('a')))
    const tile = await read(basemap, VILLAGE)
    for (const path of files()) if (!path.endsWith('.json')) truncateSync(path)
    expect(await read(basemap, VILLAGE)).toEqual(tile)
  })

  it('asks for a tile once however many wait for it, and for eight at once at the most', async () => {
    const basemap = await known(await open(remote.url('a')))
    remote.asked = []
    await Promise.all(Array.from({ length: 20 }, () => read(basemap, VILLAGE)))
    expect(remote.asked.length).toBe(1)
    const many = Array.from({ length: 40 }, (_, n) => ({
      z: 15,
      x: 29620 + (n % 8),
      y: 20070 + Math.floor(n / 8),
    }))
    await Promise.all(many.map((tile, n) => basemap.read(tile, `user ${n}`)))
    expect(remote.most).toBeLessThanOrEqual(8)
  })

  it('holds the bound of the disk, and deletes first what was used longest ago', async () => {
    const url = remote.url('a')
    const basemap = await known(await open(url, 1))
    const small: TileAddress[] = []
    for (let z = 0; z <= 15; z++)
      small.push({ z, x: Math.floor(0.90405 * 2 ** z), y: Math.floor(0.6125 * 2 ** z) })
    const sizes: number[] = []
    const [note = ''] = files()
    utimesSync(note, Date.now() / 1_000 - DAY_S, Date.now() / 1_000 - DAY_S)
    // Each round is used an hour later than the one before it.
    for (const [index, tile] of small.entries()) {
      await read(basemap, tile)
      for (const path of files().filter(path => path.includes(`/${tile.z}/`)))
        utimesSync(path, Date.now() / 1_000 - (20 - index) * 3_600, Date.now() / 1_000)
      sizes.push(files().reduce((sum, path) => sum + Math.ceil(statSync(path).size / 4_096) * 4_096, 0))
    }
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1024 ** 2)
    expect(await read(basemap, small[15] as TileAddress)).toEqual(await original(small[15] as TileAddress))
    // The note of how tiles are asked for stays, though nothing has read it since the start.
    remote.behaviour = 'failing'
    const later = await open(url, 1)
    expect(await read(later, small[15] as TileAddress)).toEqual(await original(small[15] as TileAddress))
    expect(later.about).toMatchObject({ maxZoom: 15 })
  })

  it('keeps nothing where nothing is to be kept', async () => {
    const basemap = await known(await open(remote.url('a'), 0))
    expect(await read(basemap, VILLAGE)).toEqual(readFileSync(TOOLANGI) && (await original(VILLAGE)))
    expect(() => files()).toThrow('ENOENT')
  })
})
