import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { followChoice } from '../../src/basemap/chosen.ts'
import { openBasemap } from '../../src/basemap/open.ts'
import { publicLookup } from '../../src/basemap/public-archive.ts'
import { OWN_ARCHIVE } from '../../src/basemap/setting.ts'
import { BasemapAway } from '../../src/basemap/tiles.ts'
import { type Behaviour, type RemoteArchive, startRemoteArchive, VILLAGE } from '../support/remote-archive.ts'
import { until } from '../support/wait.ts'

/** A tile of San Francisco, which the usual basemap has. */
const CITY = { z: 14, x: 2620, y: 6332 }
const log = pino({ level: 'silent' })

describe('The basemap that is chosen in the console', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'fieldline-chosen-'))
  let remote: RemoteArchive

  beforeAll(async () => {
    remote = await startRemoteArchive()
  })
  afterAll(async () => {
    await remote.close()
    rmSync(dataDir, { recursive: true })
  })

  const follow = async (isFixed = false) => {
    const choice: { url: string | null } = { url: null }
    const config = { dataDir, basemapCacheMb: 10, basemap: OWN_ARCHIVE }
    const basemap = await followChoice({
      isFixed,
      usual: await openBasemap(config, log),
      readChoice: async () => choice.url,
      open: url => openBasemap({ ...config, basemap: { kind: 'archive', url } }, log),
      log,
    })
    const choose = async (url: string | null) => {
      choice.url = url
      await basemap.follow()
    }
    return { basemap, choose }
  }

  it('is there without a restart, and the usual one is back when the choice is taken away', async () => {
    const { basemap, choose } = await follow()
    const usual = basemap.about?.version
    expect(await basemap.read(CITY, 'somebody')).not.toBeNull()
    await choose(remote.url('first'))
    await until('the archive is known', () => basemap.about !== null)
    expect(basemap.about?.version).not.toBe(usual)
    expect(await basemap.read(VILLAGE, 'somebody')).not.toBeNull()
    expect(await basemap.read(CITY, 'somebody')).toBeNull()
    await choose(null)
    expect(basemap.about?.version).toBe(usual)
    expect(await basemap.read(CITY, 'somebody')).not.toBeNull()
    await basemap.close()
  })

  it.each<Behaviour>(['failing', 'half', 'endless', 'another range', 'no ranges', 'changing', 'cut off'])(
    'costs nothing but the map while the archive is %s, and shows it once that is well',
    async behaviour => {
      remote.behaviour = behaviour
      const { basemap, choose } = await follow()
      await choose(remote.url(behaviour))
      expect(basemap.about).toBeNull()
      await expect(basemap.read(VILLAGE, 'somebody')).rejects.toThrow(BasemapAway)
      remote.behaviour = 'well'
      await until('the archive is known', () => basemap.about !== null)
      await until('its tiles are there', async () =>
        Boolean(await basemap.read(VILLAGE, 'somebody').catch(() => null)),
      )
      await basemap.close()
    },
  )

  it('is never asked at an address that is not public, whatever its name', async () => {
    remote.asked = []
    const url = remote.url('hidden').replace('127.0.0.1', 'localhost')
    const config = { dataDir, basemapCacheMb: 10, basemap: { kind: 'archive', url } as const }
    const basemap = await openBasemap(config, log, publicLookup)
    await expect(basemap.read(VILLAGE, 'somebody')).rejects.toThrow(BasemapAway)
    expect(remote.asked).toEqual([])
    await basemap.close()
  })

  it('is not read where the environment names the basemap', async () => {
    const { basemap } = await follow(true)
    expect([basemap.isFixed, basemap.about?.bounds[0]]).toEqual([true, expect.closeTo(-122.52)])
    await basemap.close()
  })
})
