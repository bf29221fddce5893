import { decodeJwt } from 'jose'
import pg from 'pg'
import { beforeAll, describe, expect, it } from 'vitest'
import { withDemand } from '../../db/demand.ts'
import { type Caller, findCallers } from '../../db/queries/sessions.ts'
import { toPublisher } from '../../ingest/identity/authenticate.ts'
import { createWatcher } from '../../ingest/identity/watcher.ts'
import { type Client, createDevice, signIn, type TestDevice } from '../support/client.ts'
import { openTestDatabase, usualKind } from '../support/database.ts'
import { useServer } from '../support/own-server.ts'
import { addPerson, type Person } from '../support/people.ts'
import { openScreen } from '../support/screen.ts'
import { pause, until } from '../support/wait.ts'
import { connectPacket, openRaw, type RawClient } from './raw.ts'

describe('A connection of a credential', () => {
  const { server, database } = useServer()
  let owner: Client
  let opened: number

  beforeAll(async () => {
    opened = performance.now()
    owner = await signIn(server)
  })

  async function connectAs(username: string, password: string): Promise<RawClient> {
    const client = openRaw(server.mqttPort)
    client.send(connectPacket({ clientId: 'one', username, password }))
    await client.next('connack')
    return client
  }
  const connectDevice = ({ id, key }: TestDevice) => connectAs(id, key)

  /** Opens a live socket and an MQTT connection of a user. */
  async function openBoth({ client: { token } }: Person) {
    return { screen: await openScreen(server, token), client: await connectAs('token', token) }
  }

  it.each<[string, (person: Person) => Promise<{ status: number }>]>([
    ['is signed out', ({ client }) => client.post('/auth/logout')],
    ['is suspended', ({ userId }) => owner.patch(`/user/${userId}`, { status: 'suspended' })],
    ['is removed', ({ userId }) => owner.delete(`/user/${userId}`)],
  ])('is closed over MQTT and live when its user %s, and nobody else is', async (_what, end) => {
    const [person, other] = [await addPerson(server, owner), await addPerson(server, owner)]
    const [both, others] = [await openBoth(person), await openBoth(other)]
    expect((await end(person)).status).toBe(200)
    expect((await both.screen.closed).code).toBe(4401)
    await both.client.closed
    expect(await others.client.answers(1)).toEqual(['connack 0', 'open'])
    others.screen.cut()
    others.client.end()
  })

  it.runIf(usualKind() === 'postgres')(
    'and what was not told while nobody could listen is found',
    async () => {
      const [ended, alive] = [await addPerson(server, owner), await addPerson(server, owner)]
      const [both, others] = [await openBoth(ended), await openBoth(alive)]
      const devices = [await createDevice(owner), await createDevice(owner), await createDevice(owner)]
      const [rotated, deleted, kept] = await Promise.all(devices.map(connectDevice))
      const sql = new pg.Client({ connectionString: database.url })
      await sql.connect()
      // The server looks by itself every 30 s from its start on.
      await until('it does not look soon', () => (performance.now() - opened) % 30_000 < 10_000)
      await sql.query('DELETE FROM sessions WHERE user_id = $1', [ended.userId])
      await sql.query(`UPDATE devices SET key_hash = sha256('another') WHERE id = $1`, [devices[0]?.id])
      await sql.query('DELETE FROM devices WHERE id = $1', [devices[1]?.id])
      await pause(300)
      expect(await rotated?.answers(1)).toEqual(['connack 0', 'open'])
      const { rowCount } = await sql.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'fieldline listen'`,
      )
      expect(rowCount).toBe(1)
      await sql.end()
      expect((await both.screen.closed).code).toBe(4401)
      await Promise.all([both.client.closed, rotated?.closed, deleted?.closed])
      expect(await kept?.answers(1)).toEqual(['connack 0', 'open'])
      expect(await others.client.answers(1)).toEqual(['connack 0', 'open'])
      others.screen.cut()
      for (const client of [others.client, kept]) client?.end()
    },
  )

  it.runIf(usualKind() === 'postgres')(
    'is closed within a second when that ended between its reading and its opening',
    async () => {
      const db = await openTestDatabase(database)
      const watcher = createWatcher({ db, onError: error => expect(error).toBeUndefined() })
      const [ended, alive] = [await addPerson(server, owner), await addPerson(server, owner)]
      const [callerOfEnded, callerOfAlive] = await Promise.all([ended, alive].map(readCaller))
      expect((await ended.client.post('/auth/logout')).status).toBe(200)
      const endings: string[] = []
      for (const [name, caller] of [
        ['ended', callerOfEnded],
        ['alive', callerOfAlive],
      ] as const) {
        const watched = { follow: () => true, end: (why: string) => void endings.push(`${name} ${why}`) }
        watcher.watch(watched, toPublisher(caller as Caller))
        // The first caller may hang up without an effect on others.
        withDemand({ lane: 'requests', signal: AbortSignal.abort() }, () => watcher.recheck(watched))
      }
      await until('the ended one is closed', () => endings.length > 0)
      expect(endings).toEqual(['ended credential'])
      watcher.close()
      await db.close()

      async function readCaller({ client }: Person): Promise<Caller> {
        const { jti } = decodeJwt(client.token)
        return (await findCallers(db.signIn, [jti as string])).get(jti as string) as Caller
      }
    },
  )

  it.runIf(usualKind() === 'postgres')(
    'is checked again soon when the database is away just when it may have ended',
    async () => {
      const db = await openTestDatabase(database)
      let failures = 0
      const away = {
        query: () => Promise.reject(new Error(`away ${++failures}`)),
        get orm(): never {
          throw new Error('Not read by it')
        },
      }
      const watcher = createWatcher({
        db: {
          ...db,
          get signIn() {
            return failures < 3 ? away : db.signIn
          },
        },
        onError: error => expect((error as Error).message).toBe(`away ${failures}`),
      })
      const person = await addPerson(server, owner)
      const { jti } = decodeJwt(person.client.token)
      const caller = (await findCallers(db.signIn, [jti as string])).get(jti as string) as Caller
      const follows: boolean[] = []
      const follow = ({ permissionDetails }: Caller) => follows.push(permissionDetails.length > 0) === 0
      const endings: string[] = []
      watcher.watch({ follow, end: why => void endings.push(why) }, toPublisher(caller))
      const { organizationId } = caller
      await db.hearChanges()
      await db.system.query(`SELECT pg_notify('fieldline', $1)`, [
        JSON.stringify({ kind: 'visibility', organizationId }),
      ])
      // Every open connection is checked every 30 s anyway, so the check has to come earlier.
      await until('it is checked', () => endings.length > 0, 25_000)
      expect({ failures, follows, endings }).toEqual({
        failures: 3,
        follows: [true],
        endings: ['permission'],
      })
      watcher.close()
      await db.close()
    },
  )
})
