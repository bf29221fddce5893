import { describe, expect, it } from 'vitest'
import { openTestDatabase, usualKind } from '../support/database.ts'
import { useOrganization } from '../support/shared-server.ts'

describe('An organization’s settings', () => {
  const { database, owner, organization } = useOrganization()

  it('are validated, and an unknown key is refused by its name', async () => {
    const change = (settings: object) => owner.patch('/organization', { settings })
    const wrong: { [key: string]: unknown[] } = {
      maxAccuracy: [0, -1, '50', true, [50], {}],
      teamPositions: ['true', 1, null, {}],
      offlineAfterMinutes: [0, -1, 7 * 24 * 60 + 1, '10', null, true, {}],
    }
    for (const [key, values] of Object.entries(wrong)) {
      for (const value of values) {
        const answer = await change({ [key]: value })
        expect([value, answer.status, answer.body.errors?.[0]?.path]).toEqual([value, 400, `settings.${key}`])
      }
    }
    for (const key of ['maxaccuracy', 'distanceUnit', 'constructor']) {
      const { status, body } = await change({ [key]: 50, offlineAfterMinutes: 20 })
      expect([status, body.errors]).toMatchObject([400, [{ path: `settings.${key}` }]])
      expect(body.message).toContain(key)
    }
    expect((await owner.get('/organization')).body.data.settings).toEqual({})
    for (const right of [
      { maxAccuracy: 0.5, offlineAfterMinutes: 0.5 },
      { maxAccuracy: null, offlineAfterMinutes: 7 * 24 * 60 },
    ]) {
      const answer = await change(right)
      expect([answer.status, answer.body.data?.settings]).toMatchObject([200, right])
    }
    for (const settings of [null, [], 'text', 7]) {
      const answer = await change(settings as object)
      expect([settings, answer.status, answer.body.errors?.[0]?.path]).toEqual([settings, 400, 'settings'])
    }
  })

  const onPostgres = it.runIf(usualKind() === 'postgres')
  onPostgres('from when any key was taken keep nobody out, and are sent back as they are shown', async () => {
    const db = await openTestDatabase(database)
    await db.system.query('UPDATE organizations SET settings = $2::jsonb WHERE id = $1', [
      organization.organizationId,
      JSON.stringify({ maxAccuracy: 50, distanceUnit: 'km', nested: { note: 'x' } }),
    ])
    await db.close()
    const { settings } = (await owner.get('/organization')).body.data
    expect(settings).toEqual({ maxAccuracy: 50 })
    const changed = await owner.patch('/organization', { settings: { ...settings, teamPositions: true } })
    expect([changed.status, changed.body.data?.settings]).toEqual([
      200,
      { maxAccuracy: 50, teamPositions: true },
    ])
  })
})
