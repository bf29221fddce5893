import { describe, expect, it } from 'vitest'
import { importFile } from '../support/imports.ts'
import { addPerson, roleId } from '../support/people.ts'
import { openScreen, type TestScreen } from '../support/screen.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'

describe('Watching records over the live socket', () => {
  const { server, owner } = useOrganization()

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

    // A role that sees positions lets the same socket subscribe, and one that does not any more closes it.
    const answered = answers(screen).length
    await owner.patch(`/user/${userId}`, { roleId: await roleId(owner, 'Planner') })
    await until('told of what it may watch now', () => answers(screen).length > answered)
    screen.send({ type: 'subscribe' })
    await until('a snapshot', () => screen.snapshots === 1)
    await owner.patch(`/user/${userId}`, { roleId: made.body.data._id })
    expect((await screen.closed).code).toBe(4403)
  })

  it('says what makes no sense, and the socket stays', async () => {
    const screen = await openScreen(server, owner.token)
    for (const topics of [undefined, 'imports', ['shoes'], [1], Array(100).fill('imports')])
      screen.send({ type: 'watch', topics })
    screen.send({ type: 'watch', topics: ['imports'], shoe: 1 })
    await until('six errors', () => screen.errors.length === 6)
    expect(await watch(screen, ['imports'])).toEqual(['imports'])
    screen.cut()
  })
})
