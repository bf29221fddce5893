import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ChangeEvent, type Database, newId, notify, type Queryable } from '../../db/client.ts'
import { insertDevice } from '../../db/queries/devices.ts'
import { listSubjectsOf } from '../../db/queries/newest-fixes.ts'
import {
  createVisibilityTest,
  scopeConditions,
  type Visibility,
  visibleCondition,
  visibleTimes,
} from '../../db/visibility.ts'
import {
  createTestDatabase,
  openTestDatabase,
  postgresMissing,
  type TestDatabase,
} from '../support/database.ts'
import { until } from '../support/wait.ts'

describe.each(['pglite', 'postgres'] as const)('A change of visibility on %s', kind => {
  const missing = kind === 'postgres' ? postgresMissing() : undefined
  let files: TestDatabase
  let db: Database
  const organizationId = newId()
  const told: ChangeEvent[] = []

  beforeAll(async () => {
    if (missing) return
    files = await createTestDatabase(kind)
    db = await openTestDatabase(files)
    db.onChange(event => told.push(event))
    await db.hearChanges()
    await db.system.query('INSERT INTO organizations (id, name) VALUES ($1, $2)', [organizationId, 'First'])
  })
  afterAll(async () => {
    await db?.close()
    await files?.remove()
  })
  const test = (name: string, work: () => Promise<void>) =>
    it(name, async context => (missing ? context.skip(missing) : work()))

  async function raisedBy(work: (tx: Queryable) => Promise<unknown>): Promise<number> {
    const read = async () => {
      const [row] = await db.system.query<{ version: number }>(
        'SELECT visibility_version AS version FROM organizations WHERE id = $1',
        [organizationId],
      )
      return row?.version as number
    }
    const before = await read()
    await db.tenant(organizationId, work)
    return (await read()) - before
  }

  const addDevice = (tx: Queryable, name: string) =>
    insertDevice(tx, { organizationId, name, hubId: null, keyHash: Buffer.from(newId()) })

  test('says so itself, whichever statement it was, and once however many rows it has', async () => {
    const [role] = [newId()]
    expect(
      await raisedBy(async tx => {
        await tx.query('INSERT INTO roles (id, organization_id, name) VALUES ($1, $2, $3)', [
          role,
          organizationId,
          'A',
        ])
      }),
    ).toBe(1)
    expect(await raisedBy(tx => tx.query(`UPDATE roles SET permission_details = '[{}]'`))).toBe(1)
    expect(await raisedBy(tx => tx.query(`UPDATE roles SET name = 'B'`))).toBe(0)
    expect(await raisedBy(tx => addDevice(tx, 'One'))).toBe(1)
    await raisedBy(tx => addDevice(tx, 'Two'))
    expect(await raisedBy(tx => tx.query(`UPDATE devices SET name = name || '!'`))).toBe(1)
    expect(await raisedBy(tx => tx.query('UPDATE devices SET updated_at = now()'))).toBe(0)
    expect(await raisedBy(tx => tx.query('UPDATE devices SET deleted_at = now()'))).toBe(1)
    expect(await raisedBy(tx => tx.query('UPDATE devices SET deleted_at = deleted_at'))).toBe(0)
  })

  test('is told to every process when it is committed, to none of another organization', async () => {
    // Notifications come in order: after this one, none of the earlier changes is left.
    await db.system.transaction(tx => notify(tx, { kind: 'session', sessionId: newId() }))
    await until('what was changed before is told', () => told.at(-1)?.kind === 'session')
    told.length = 0
    await db.tenant(organizationId, tx => addDevice(tx, 'Three'))
    await until('it is told', () => told.length > 0)
    expect(told).toEqual([{ kind: 'visibility', organizationId }])
  })

  test('does not hold up two who do it at once', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `At once ${index}`)
    await Promise.all(names.map(name => db.tenant(organizationId, tx => addDevice(tx, name))))
  })

  test('holds in the database as it does in memory, for random subjects, teams and hubs', async () => {
    const random = (length: number) => Math.floor(Math.random() * length)
    const some = <T>(from: readonly T[]) => from.filter(() => Math.random() < 0.3)
    const ids = (count: number) => Array.from({ length: count }, newId)
    const [hubs, teams, users, devices] = [ids(4), ids(4), ids(12), ids(12)]
    const rollBack = new Error('rolled back')
    const work = db.system.transaction(async tx => {
      const each = async (text: string, rows: unknown[][]) => {
        for (const row of rows) await tx.query(text, [organizationId, ...row])
      }
      await each(
        `INSERT INTO hubs (organization_id, id, name, lat, lng) VALUES ($1, $2, 'H', 1, 1)`,
        hubs.map(id => [id]),
      )
      await each(
        'INSERT INTO teams (organization_id, id, name, hub_id) VALUES ($1, $2::uuid, $2::uuid::text, $3)',
        teams.map(id => [id, hubs[0]]),
      )
      await each('INSERT INTO subjects (organization_id, id, type) VALUES ($1, $2, $3)', [
        ...users.map(id => [id, 'user']),
        ...devices.map(id => [id, 'device']),
      ])
      const accounts = ids(users.length)
      const roleId = newId()
      await each(`INSERT INTO roles (organization_id, id, name) VALUES ($1, $2, 'R')`, [[roleId]])
      for (const [index, id] of users.entries()) {
        await tx.query(`INSERT INTO accounts (id, email, password_hash) VALUES ($1, $2, '')`, [
          accounts[index],
          `${id}@example.com`,
        ])
        await each(
          `INSERT INTO users (organization_id, id, account_id, role_id, name) VALUES ($1, $2, $3, $4, 'U')`,
          [[id, accounts[index], roleId]],
        )
        await each(
          'INSERT INTO user_hubs (organization_id, user_id, hub_id) VALUES ($1, $2, $3)',
          some(hubs).map(hub => [id, hub]),
        )
        await each(
          'INSERT INTO team_users (organization_id, user_id, team_id, is_member, is_leader) VALUES ($1, $2, $3, true, false)',
          some(teams).map(team => [id, team]),
        )
      }
      await each(
        `INSERT INTO devices (organization_id, id, name, key_hash, hub_id) VALUES ($1, $2, 'D', sha256($2::uuid::text::bytea), $3)`,
        devices.map(id => [id, hubs[random(8)] ?? null]),
      )
      const vehicles = ids(8)
      await each(
        `INSERT INTO vehicles (organization_id, id, name, hub_id) VALUES ($1, $2, 'V', $3)`,
        vehicles.map(id => [id, hubs[random(8)] ?? null]),
      )
      // Devices change vehicles at random minutes of the past. Some are still mounted, some vehicles are deleted.
      const minute = (nth: number) => new Date(Date.UTC(2026, 0, 1, 0, nth))
      const isTaken = new Set<string>()
      for (const device of devices) {
        let nth = random(3)
        for (const vehicle of some([...vehicles, ...vehicles])) {
          const [since, until] = [nth, nth + random(4)]
          const isOpen = nth > 6 && !isTaken.has(vehicle)
          if (isOpen) isTaken.add(vehicle)
          const times = [minute(since), isOpen ? null : minute(until)]
          await each(
            'INSERT INTO mounts (organization_id, id, device_id, vehicle_id, mounted_at, unmounted_at) VALUES ($1, $2, $3, $4, $5, $6)',
            [[newId(), device, vehicle, ...times]],
          )
          if (isOpen) break
          nth = until + random(2)
        }
      }
      await tx.query('DELETE FROM vehicles WHERE id = ANY($1::uuid[])', [vehicles.slice(0, 2)])
      const subjects = await listSubjectsOf(tx, organizationId)
      for (let round = 0; round < 30; round++) {
        const visibility = {
          organizationId,
          subjectIds: round % 3 === 0 ? null : some([...users, ...devices]),
          teamIds: some(teams),
          hubIds: round % 5 === 0 ? null : some(hubs),
        }
        const values: unknown[] = [organizationId]
        const condition = visibleCondition('s', visibility, value => `$${values.push(value)}`)
        const found = await tx.query<{ id: string }>(
          `SELECT s.id FROM subjects s WHERE s.organization_id = $1 AND ${condition}`,
          values,
        )
        const isVisible = createVisibilityTest(visibility)
        const expected = subjects.filter(subject => isVisible(subject)).map(({ subjectId }) => subjectId)
        expect(found.map(({ id }) => id).sort(), JSON.stringify(visibility)).toEqual(expected.sort())
        // The points that each of them recorded at each time, by the three forms of the rule.
        const times = Array.from({ length: 12 }, (_, nth) => minute(nth).getTime())
        const seen = await findSeen(tx, organizationId, visibility, times)
        const remembered = times.flatMap(at =>
          subjects
            .filter(subject => isVisible(subject, at))
            .map(({ subjectId, subjectType }) => `${at} ${subjectType} ${subjectId}`),
        )
        expect(seen.by('condition'), JSON.stringify(visibility)).toEqual(remembered.sort())
        expect(seen.by('times'), JSON.stringify(visibility)).toEqual(remembered)
      }
      throw rollBack
    })
    await expect(work).rejects.toBe(rollBack)
  })
})

/** Which subjects may be seen at each of the times, in milliseconds, by a condition and by the visible times. */
async function findSeen(
  tx: Queryable,
  organizationId: string,
  visibility: Visibility,
  times: readonly number[],
) {
  const values: unknown[] = [organizationId, times]
  const add = (value: unknown) => `$${values.push(value)}`
  const { hubIds } = visibility
  const scope = scopeConditions('s', visibility, add).join(' AND ') || 'true'
  const rows = await tx.query<{ at: number; name: string; condition: boolean; times: boolean }>(
    `SELECT t.ms AS at, concat(s.type, ' ', s.id) AS name, ${visibleCondition('s', visibility, add, 't.at')} AS condition,
       ${scope} AND ${hubIds ? `t.at <@ ${visibleTimes('s', hubIds, add)}` : 'true'} AS times
     FROM subjects s CROSS JOIN (SELECT ms, to_timestamp(ms / 1000) AS at FROM unnest($2::float8[]) ms) t
     WHERE s.organization_id = $1`,
    values,
  )
  const by = (rule: 'condition' | 'times') =>
    rows
      .filter(row => row[rule])
      .map(({ at, name }) => `${at} ${name}`)
      .sort()
  return { by }
}
