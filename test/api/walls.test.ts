import { describe, expect, it } from 'vitest'
import { newId } from '../../db/client.ts'
import { forEach, someOf } from '../support/at-once.ts'
import { listBadTokens } from '../support/bad-tokens.ts'
import { createClient, createDevice } from '../support/client.ts'
import { usualKind } from '../support/database.ts'
import { listOperations } from '../support/openapi.ts'
import { addPerson } from '../support/people.ts'
import { exampleBody } from '../support/references.ts'
import { openScreen, tryUpgrade } from '../support/screen.ts'
import { listAllIds, listOneOfEach } from '../support/tenant-rows.ts'
import { pause, until } from '../support/wait.ts'
import { leaks, MARK, namedInPath, ROLES, sendTo, useWalls, valuesFor, watching } from '../support/walls.ts'

const SECRET = 'a secret of thirty-two characters'

/**
 * The wall between organizations: every operation of the OpenAPI document is called with every kind of token, and with identifiers of
 * another organization wherever a parameter names a record; `walls-of-lists.test.ts` does it for queries and bodies. Nothing leaks,
 * nothing changes. No route is named here, so a new one is covered too.
 */
describe.runIf(usualKind() === 'postgres')('The wall between organizations', () => {
  const walls = useWalls()

  it('is tried with records of every kind', async () => {
    const { db, other, foreign } = walls
    const kinds = await listOneOfEach(db, other.organizationId)
    const expected = [
      ...['userId', 'roleId', 'hubId', 'teamId', 'flowId', 'deviceId', 'vehicleId', 'webhookId'],
      ...['taskId', 'scheduleId', 'trackingLinkId', 'dataTypeId', 'dataRecordId', 'importConfigId'],
    ]
    expect([...kinds.keys()]).toEqual(expect.arrayContaining(expected))
    expect(foreign.ids.size).toBeGreaterThan(20)
    // The other organization sees its own records: the mark is found where it may be.
    const devices = await other.client.get('/devices')
    expect(leaks(walls, devices, '').length).toBeGreaterThan(1)
  })

  it('holds for every token that is none: 401, and nothing changes', async () => {
    const { server, db, document, home, other, foreign } = walls
    const tokens = await listBadTokens(server, other.client, {
      secret: SECRET,
      organizationId: home.organizationId,
    })
    const kinds = await listOneOfEach(db, other.organizationId)
    const values = [...kinds.values()]
    foreign.ids = await listAllIds(db, other.organizationId)
    await watching(walls, async (operation, report) => {
      if (operation.spec['x-permission'] === 'public') return
      const body = exampleBody(operation, document, home.own)
      // The token is looked at before the path: for each one record is enough.
      const one = () => namedInPath(operation, kinds) ?? (someOf(values, values.length)[0] as string)
      const attempts = tokens.map(([kind, token]) => ({
        kind,
        token,
        params: operation.path.includes('{') ? one() : '',
      }))
      await forEach(attempts, async ({ kind, token, params }) => {
        const answer = await sendTo(createClient(server, token), operation, params, body)
        if (answer.status !== 401) report(`${kind} token: ${answer.status}`)
        for (const leak of leaks(walls, answer, params)) report(`${kind} token leaks ${leak}`)
      })
    })
  })

  it("holds for a device's key, which opens what takes points alone", async () => {
    const { server, document, home, foreign } = walls
    const device = await createDevice(home.client)
    const client = createClient(server, device.key)
    await watching(walls, async (operation, report) => {
      if (operation.spec['x-permission'] === 'public') return
      const body = exampleBody(operation, document, home.own)
      const takesPoints = /location-history\/bulk|\/ingest\//.test(operation.path)
      const known = namedInPath(operation, foreign.kinds)
      const tried = takesPoints ? foreign.values : valuesFor(known, foreign.values, 12, 6)
      await forEach(operation.path.includes('{') ? tried : [''], async params => {
        const answer = await sendTo(client, operation, params, body)
        if (!takesPoints && answer.status !== 403) report(`${answer.status}`)
        for (const leak of leaks(walls, answer, params)) report(`leaks ${leak}`)
      })
    })
  })

  it.each(ROLES)('holds for foreign identifiers in every path, for the role %s', async role => {
    const { document, foreign } = walls
    await watching(walls, async (operation, report) => {
      if (!operation.path.includes('{')) return
      const { client, lacks } = await walls.actor(role)
      const isLacking = lacks(operation)
      const body = exampleBody(operation, document, walls.home.own)
      const nothing = await sendTo(client, operation, newId(), body)
      // The role is looked at before the path, and rows of another organization are hidden from all roles alike.
      const known = namedInPath(operation, foreign.kinds)
      const [oneOf, orElse] = role === 'Owner' ? [4, 1] : isLacking ? [foreign.values.length, 12] : [8, 3]
      await forEach(valuesFor(known, foreign.values, oneOf, orElse), async value => {
        const answer = await sendTo(client, operation, value, body)
        for (const leak of leaks(walls, answer, value)) report(`${value} leaks ${leak}`)
        if (isLacking ? answer.status !== 403 : ![400, 404].includes(answer.status))
          report(`${value} answers ${answer.status}`)
        // Records of another organization and missing ones get the same answer.
        const told = [answer.status, answer.body.message].join()
        if (told !== [nothing.status, nothing.body.message].join()) report(`${value} is told apart: ${told}`)
      })
    })
  })

  describe('on live streams', () => {
    const streams = () =>
      listOperations(walls.document).filter(({ path, spec }) => spec.responses['101'] && path !== '/mqtt')

    it('opens to no token that is none, and to no foreign identifier', async () => {
      const { server, home, foreign } = walls
      const device = await createDevice(home.client)
      const revoked = await addPerson(server, home.client)
      await revoked.client.post('/auth/logout')
      const { client: nothing } = await walls.actor('Nothing')
      const problems: string[] = []
      for (const { path, name } of streams()) {
        for (const token of [
          '',
          'garbage',
          `flk_${'A'.repeat(43)}`,
          revoked.client.token,
          device.key,
          nothing.token,
        ]) {
          for (const value of path.includes('{') ? foreign.values : ['']) {
            const filled = path.replaceAll(/\{\w+\}/g, encodeURIComponent(value))
            const status = await tryUpgrade(server, filled, token)
            if (![401, 403, 404].includes(status)) problems.push(`${name} ${value}: ${status}`)
          }
        }
      }
      expect(problems).toEqual([])
    })

    it.each(ROLES.filter(role => role !== 'Nothing'))(
      'shows %s nothing of another organization, whatever it asks for',
      async role => {
        const { server, home, other, foreign } = walls
        const { client } = await walls.actor(role)
        const device = await createDevice(other.client, `${MARK} moving`)
        const self = (await client.get('/user')).body.data
        const own = self.kind === 'user' ? {} : { deviceId: (await createDevice(home.client)).id }
        const ownId = own.deviceId ?? self._id
        const ids = [...foreign.values, device.id]
        const filters = [undefined, { subjectIds: ids }, { hubIds: ids }, { teamIds: ids }, {}]
        const screens = await Promise.all(filters.map(filter => openScreen(server, client.token, { filter })))
        const points = (of = {}) => ({ points: [{ lat: 3, lng: 4, timestamp: Date.now(), ...of }] })
        await createClient(server, device.key).post('/location-history/bulk', points())
        await client.post('/location-history/bulk', points(own))
        // The own point was sent after the foreign one, so that one has been skipped by now.
        await until('the own point', () => screens[0]?.positions.has(ownId) ?? false)
        await pause(300)
        for (const screen of screens) {
          const text = JSON.stringify(screen.messages)
          expect(text).not.toContain(MARK)
          for (const id of [...foreign.ids, device.id]) expect(text.includes(id), id).toBe(false)
          screen.cut()
        }
      },
    )
  })
})
