import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, signIn } from '../support/client.ts'
import { useServer } from '../support/own-server.ts'
import { addOrganization, addPerson } from '../support/people.ts'
import { openScreen, type TestScreen } from '../support/screen.ts'
import { until } from '../support/wait.ts'

describe('Watching records over the live socket', () => {
  const { server } = useServer()
  let owner: Client

  beforeAll(async () => {
    owner = (await addOrganization(server, await signIn(server))).client
  })

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
