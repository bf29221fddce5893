import { describe, expect, it } from 'vitest'
import { openTestDatabase } from '../support/database.ts'
import { hold } from '../support/hold.ts'
import { importFile } from '../support/imports.ts'
import { addOrganization, addPerson, roleId } from '../support/people.ts'
import { openScreen, type TestScreen } from '../support/screen.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'

describe('Watching records over the live socket', () => {
  const { server, database, owner } = useOrganization()

  const answers = (screen: TestScreen) => screen.messages.filter(({ type }) => type === 'watching')
  async function watch(screen: TestScreen, topics: unknown): Promise<unknown> {
    const before = answers(screen).length
    screen.send({ type: 'watch', topics })
    await until('an answer', () => answers(screen).length > before)
    return (answers(screen).at(-1) as unknown as { topics: unknown }).topics
  }

  it('is answered with the topics that the role allows, and can be changed and ended', async () => {
    const screen = await openScreen(server, owner.token)
    expect(await watch(screen, ['imports', 'imports'])).toEqual(['imports'])
    expect(await watch(screen, [])).toEqual([])
    const { client } = await addPerson(server, owner, { role: 'Field user' })
    const other = await openScreen(server, client.token)
    expect(await watch(other, ['imports'])).toEqual([])
    screen.cut()
    other.cut()
  })

  it('a role without view/location watches what it may, is refused a subscription, and keeps the socket', async () => {
    const made = await owner.post('/role', {
      name: 'Imports',
      permissionDetails: ['import/data', 'view/data', 'view/geofence'].map(permissionName => ({
        permissionName,
      })),
    })
    const { client, userId } = await addPerson(server, owner, { roleId: made.body.data._id })
    const screen = await openScreen(server, client.token)
    const refused =
      'Your role lacks the permission view/location: you may watch what it allows, and not subscribe.'
    expect(screen.messages).toEqual([{ type: 'error', message: refused }])
    expect(await watch(screen, ['tasks', 'imports', 'exports', 'geofences'])).toEqual(['imports'])
    const fields = [{ key: 'n', label: 'N', type: 'number' }]
    const dataTypeId = (await owner.post('/data-type', { name: 'Watched', fields })).body.data._id
    const { _id } = await importFile(server, client, 'N\n1\n', { dataTypeId })
    const told = () => screen.messages as { type: string; import?: { _id: string; status: string } }[]
    await until('told of the import', () =>
      told().some(one => one.import?._id === _id && one.import.status === 'completed'),
    )

    // A role that sees positions lets the same socket subscribe. When the role loses them, the socket is closed.
    const answered = answers(screen).length
    await owner.patch(`/user/${userId}`, { roleId: await roleId(owner, 'Planner') })
    await until('told of what it may watch now', () => answers(screen).length > answered)
    screen.send({ type: 'subscribe' })
    await until('a snapshot', () => screen.snapshots === 1)
    await owner.patch(`/user/${userId}`, { roleId: made.body.data._id })
    expect((await screen.closed).code).toBe(4403)
  })

  it('answers invalid messages with an error, and the socket stays', async () => {
    const screen = await openScreen(server, owner.token)
    for (const topics of [undefined, 'imports', ['shoes'], [1], Array(100).fill('imports')])
      screen.send({ type: 'watch', topics })
    screen.send({ type: 'watch', topics: ['imports'], shoe: 1 })
    await until('six errors', () => screen.errors.length === 6)
    expect(await watch(screen, ['imports'])).toEqual(['imports'])
    screen.cut()
  })

  it('continues for everybody while one organization has no turn left in the database: the others hear at once, and it hears later', async context => {
    if (!database.url) return context.skip('PGlite is one session, which nobody else can hold up')
    const failed = () => server.output.stderr.split('Sending changed records failed').length - 1
    const other = await addOrganization(server, (await addPerson(server, owner, { role: 'Admin' })).client)
    const sides = await Promise.all(
      [owner, other.client].map(async client => {
        const screen = await openScreen(server, client.token)
        await watch(screen, ['tasks'])
        const { _id } = (await client.post('/task', { name: 'Task' })).body.data
        const told = () =>
          (screen.messages as { type: string; task?: { name: string } }[])
            .filter(({ type }) => type === 'task')
            .at(-1)?.task?.name
        const rename = async (name: string) =>
          expect((await client.patch(`/task/${_id}`, { name })).status).toBe(200)
        let closed: unknown
        void screen.closed.then(why => {
          closed = why
        })
        return { client, screen, told, rename, isClosed: () => closed }
      }),
    )
    const [crowded, quiet] = sides as [(typeof sides)[0], (typeof sides)[0]]
    // Its queue at the database is full: its searches wait for a lock, and one person has at most 16 requests in
    // flight.
    const people = await Promise.all(
      Array.from({ length: 6 }, async () => (await addPerson(server, owner, { role: 'Planner' })).client),
    )
    const db = await openTestDatabase(database)
    const letGo = await hold(db, 'LOCK TABLE data_records IN ACCESS EXCLUSIVE MODE')
    let refused = 0
    const searches = people.flatMap(person =>
      Array.from({ length: 16 }, async () => {
        if ((await person.get('/data?search=zq')).status === 503) refused++
      }),
    )
    await until('it has no turn left', () => refused > 0)
    const before = failed()
    await crowded.rename('Renamed')
    await until('it could not be told', () => failed() > before)
    await quiet.rename('Heard')
    await until('the other one hears', () => quiet.told() === 'Heard')
    await letGo()
    await db.close()
    await Promise.all(searches)
    const last = 'Renamed'
    await until('it hears what is newest', () => crowded.told() === last)
    expect([crowded, quiet].map(side => side.isClosed())).toEqual([undefined, undefined])
    for (const { screen } of sides) screen.cut()
  })
})
