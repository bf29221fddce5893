import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { writeSamples } from '../../db/queries/health-history.ts'
import { NO_FIGURES } from '../../src/resources/health-history/figures.ts'
import { type Client, signIn } from '../support/client.ts'
import { openTestDatabase } from '../support/database.ts'
import { useServer } from '../support/own-server.ts'
import { addPerson } from '../support/people.ts'
import { findBarriersInThemes, useBrowser } from './browser.ts'

describe('The page about the server', () => {
  // Without the role `jobs` nothing adds figures of its own to those of the test.
  const { server, database } = useServer({ ROLES: 'api,ingest,writer,live' })
  const screens = useBrowser({ map: 'none' })
  let owner: Client

  beforeAll(async () => {
    owner = await signIn(server)
    const db = await openTestDatabase(database)
    await db.system.query('DELETE FROM health_samples')
    const now = Math.floor(Date.now() / 60_000) * 60_000
    const figures = (age: number) => ({
      ...NO_FIGURES,
      ...{ minutes: 1, received: 6_000 + (age % 60), stored: 6_000, online: 120, waitingSeconds: 0 },
      ...{ jobsDue: 0, jobsOldestSeconds: 0, jobsFailed: 1, diskSizeBytes: 100e9, diskFreeBytes: 5e9 },
      ...{ storedDelays: [0, 0, 9, 1], shownDelays: [0, 0, 0, 0, 5], rejections: { future: 2 } },
    })
    const samples = Array.from({ length: 120 }, (_, age) => ({
      resolution: 'minute' as const,
      at: new Date(now - age * 60_000),
      figures: figures(age),
    }))
    await writeSamples(db.system, samples)
    await db.close()
  })

  const card = (page: Page, name: string) => page.getByRole('region', { name, exact: true })

  it('says of each figure whether it is well and what to do, with a plot and a table behind it', async () => {
    const page = await screens.open(`${server.url}/server`, { as: owner })
    await page.getByText('2 figures need you: Background jobs, Disk used.').waitFor()
    const disk = card(page, 'Disk used')
    await disk.getByText('Act now').waitFor()
    await disk.getByText(/Make room, move DATA_DIR/).waitFor()
    await card(page, 'Background jobs').getByText('Look at it').waitFor()
    const points = card(page, 'Points a minute')
    await points.getByText('Well', { exact: true }).waitFor()
    await points.getByRole('img', { name: /Points a minute from .* between 6,000 and 6,059/ }).waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    // By keyboard alone.
    await points.getByText('As a table').focus()
    await page.keyboard.press('Enter')
    await points.getByRole('columnheader', { name: 'Received' }).waitFor()
    expect(await points.getByRole('row').count()).toBe(121)
    await page.getByRole('radio', { name: '31 days' }).click()
    await page.waitForURL(/period=month/)
    await points.getByRole('img', { name: /no figures in this period/ }).waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
  })

  it('is there for the Owner of the first organization alone', async () => {
    const page = await screens.open(`${server.url}/`, { as: owner })
    await page.getByRole('link', { name: 'Server health' }).first().waitFor()
    const admin = (await addPerson(server, owner, { role: 'Admin' })).client
    const theirs = await screens.open(`${server.url}/server`, { as: admin })
    await theirs.getByText('Only the Owner of the first organization of this server').waitFor()
    expect(await theirs.getByRole('link', { name: 'Server health' }).count()).toBe(0)
  })
})
