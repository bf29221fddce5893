import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Answer, Client } from '../support/client.ts'
import { addPerson } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'

interface Step {
  status: string
  next: string[]
  fields: { key: string; required: boolean; type: string; options: string[] }[]
}
interface Entry {
  status: string
  at: string
  fields: object
}

describe('The status of a task', () => {
  const { server, owner } = useOrganization()
  let flows: { _id: string; name: string; steps: Step[] }[]

  beforeAll(async () => {
    const custom = await owner.post('/flow', {
      name: 'Inspection',
      steps: [
        { status: 'draft', label: 'Draft', next: ['open', 'draft'] },
        { status: 'open', label: 'Open', next: ['done', 'draft'] },
        {
          status: 'done',
          label: 'Done',
          next: ['open'],
          fields: [
            { key: 'rating', label: 'Rating', type: 'number', required: true },
            { key: 'remark', label: 'Remark', type: 'text' },
          ],
        },
      ],
    })
    expect(custom.status).toBe(201)
    flows = (await owner.get('/flows?limit=500')).body.data
  })

  const add = async (flow: string, body: object = {}): Promise<string> => {
    const { _id: flowId } = flows.find(({ name }) => name === flow) as { _id: string }
    const made = await owner.post('/task', { name: 'Task', flowId, ...body })
    expect([made.status, made.body.errors]).toEqual([201, undefined])
    return `/task/${made.body.data._id}`
  }
  const move = (path: string, status: string, more: object = {}, by = owner): Promise<Answer> =>
    by.post(`${path}/status`, { status, ...more })
  const EXAMPLES: { [type: string]: unknown } = { text: 'x', number: 3, boolean: true }
  /** The fields of a step, with values that fit. */
  const asked = (step: Step | undefined) => ({
    fields: Object.fromEntries(
      (step?.fields ?? []).map(({ key, type, options }) => [key, options[0] ?? EXAMPLES[type]]),
    ),
  })
  const statuses = (task: { history: Entry[] }) => task.history.map(({ status }) => status)
  const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString()

  it('follows its flow from every step to every step: what the flow allows and nothing else, of every flow', async () => {
    let [moves, refusals] = [0, 0]
    for (const flow of flows) {
      const stepOf = (status: string) => flow.steps.find(step => step.status === status) as Step
      // The shortest way to each step.
      const ways = new Map([[flow.steps[0]?.status as string, [] as string[]]])
      for (const [status, way] of ways)
        for (const next of stepOf(status).next) if (!ways.has(next)) ways.set(next, [...way, next])
      expect(ways.size).toBe(flow.steps.length)
      for (const [from, way] of ways) {
        const path = await add(flow.name)
        for (const status of way) expect((await move(path, status, asked(stepOf(status)))).status).toBe(200)
        const forbidden = [...ways.keys(), 'unheard_of'].filter(status => !stepOf(from).next.includes(status))
        for (const status of forbidden) {
          const answer = await move(path, status)
          expect([flow.name, from, status, answer.status]).toEqual([flow.name, from, status, 409])
          expect(answer.body.allowed).toEqual(stepOf(from).next)
          for (const next of stepOf(from).next) expect(answer.body.message).toContain(next)
          refusals++
        }
        const before = (await owner.get(path)).body.data
        expect([before.status, statuses(before)]).toEqual([from, [flow.steps[0]?.status, ...way]])
        let other: string | undefined = path
        for (const next of stepOf(from).next) {
          if (!other) {
            other = await add(flow.name)
            for (const status of way)
              expect((await move(other, status, asked(stepOf(status)))).status).toBe(200)
          }
          expect((await move(other, next, asked(stepOf(next)))).status).toBe(200)
          expect((await owner.get(other)).body.data.status).toBe(next)
          moves++
          // The next one begins where this one did: a task that may return there does.
          const returns = stepOf(next).next.includes(from)
          if (returns) expect((await move(other, from, asked(stepOf(from)))).status).toBe(200)
          else other = undefined
        }
      }
    }
    expect(moves).toBeGreaterThan(40)
    expect(refusals).toBeGreaterThan(150)
  })

  it('keeps when, by whom, where and what the step asked for', async () => {
    const path = await add('Inspection', { content: { remark: 'before', floor: 3 } })
    const { data: me } = (await owner.get('/user')).body
    await move(path, 'open')
    const at = new Date().toISOString()
    const more = { at, lat: 52.5, lng: 13.4, note: 'All well', fields: { rating: 5 } }
    const { data } = (await move(path, 'done', more)).body
    expect(data.history.at(-1)).toEqual({
      status: 'done',
      at,
      by: me._id,
      lat: 52.5,
      lng: 13.4,
      note: 'All well',
      fields: { rating: 5 },
    })
    expect(data.content).toEqual({ remark: 'before', floor: 3, rating: 5 })
  })

  it.each([
    ['fields.rating', {}],
    ['fields.rating', { fields: { rating: 'five' } }],
    ['fields.rating', { fields: { rating: null } }],
    ['fields.colour', { fields: { rating: 1, colour: 'red' } }],
    ['lng', { lat: 1, fields: { rating: 1 } }],
    ['lat', { lat: 91, lng: 0, fields: { rating: 1 } }],
    ['at', { at: 'yesterday', fields: { rating: 1 } }],
    ['at', { at: new Date(Date.now() + 3_600_000).toISOString(), fields: { rating: 1 } }],
    ['by', { by: 'me', fields: { rating: 1 } }],
  ])('a wrong %s is 400 and changes nothing: %o', async (path, wrong) => {
    const task = await add('Inspection')
    await move(task, 'open')
    const before = (await owner.get(task)).body.data
    const answer = await move(task, 'done', wrong)
    expect([answer.status, answer.body.errors?.map((one: { path: string }) => one.path)]).toEqual([
      400,
      [path],
    ])
    expect((await owner.get(task)).body.data).toEqual(before)
  })

  describe('from a phone on a bad connection', () => {
    const WAY = ['assigned', 'accepted', 'on_the_way', 'in_progress', 'completed']

    it('counts once, however often it is sent', async () => {
      const path = await add('Standard')
      const sent = WAY.map((status, index) => ({ status, at: ago(-index / 1000) }))
      for (const { status, at } of sent) {
        expect((await move(path, status, { at })).status).toBe(200)
        expect((await move(path, status, { at })).status).toBe(200)
      }
      // Everything again in another order: nothing changes.
      const before = (await owner.get(path)).body.data
      for (const { status, at } of [...sent].reverse()) {
        const again = await move(path, status, { at })
        expect([again.status, again.body.data]).toEqual([200, before])
      }
      expect(statuses(before)).toEqual(['unassigned', ...WAY])
    })

    it('takes its place by its time, and leaves the present status alone', async () => {
      const path = await add('Standard')
      await move(path, 'assigned')
      const accepted = new Date().toISOString()
      await new Promise(done => setTimeout(done, 20))
      await move(path, 'cancelled')
      const { status, body } = await move(path, 'accepted', { at: accepted, lat: 1, lng: 2 })
      expect(status).toBe(200)
      expect(body.data.status).toBe('cancelled')
      expect(statuses(body.data)).toEqual(['unassigned', 'assigned', 'accepted', 'cancelled'])
      // No step follows the last one, and before the beginning it would not have been allowed.
      expect((await move(path, 'on_the_way')).status).toBe(409)
      expect((await move(path, 'completed', { at: accepted })).body.allowed).toEqual([
        'on_the_way',
        'assigned',
        'cancelled',
      ])
    })

    it('from a slow clock happened at the beginning, and after a fast one everything goes on', async () => {
      const path = await add('Standard')
      const { data } = (await move(path, 'assigned', { at: '2026-01-01T00:00:00Z' })).body
      expect(data.history[1].at).toBe(data.history[0].at)
      await move(path, 'accepted', { at: ago(-300) })
      const cancelled = await move(path, 'cancelled')
      expect([cancelled.status, cancelled.body.data.status]).toEqual([200, 'cancelled'])
    })

    it('does not put what was asked for later out', async () => {
      const path = await add('Inspection')
      await move(path, 'open')
      await new Promise(done => setTimeout(done, 20))
      const early = ago(0.01)
      await move(path, 'done', { fields: { rating: 5, remark: 'new' } })
      const { data } = (await move(path, 'done', { at: early, fields: { rating: 1 } })).body
      expect(data.content).toEqual({ rating: 5, remark: 'new' })
      expect(data.history.map((entry: Entry) => entry.fields)).toEqual([
        {},
        {},
        { rating: 1 },
        { rating: 5, remark: 'new' },
      ])
    })

    it('ends in one history, in whatever order and however often several phones send it at once', async () => {
      const driver = await addPerson(server, owner, { role: 'Planner' })
      await fc.assert(
        fc.asyncProperty(
          fc.shuffledSubarray([0, 1, 2, 3, 4, 0, 1, 2, 3, 4], { minLength: 10, maxLength: 10 }),
          async order => {
            const path = await add('Standard')
            const begun = Date.now()
            const sent = WAY.map((status, at) => ({ status, at: new Date(begun + at * 10).toISOString() }))
            // A rejected move is sent again until it is accepted, as a phone does with stored actions.
            const deliver = async (index: number, by: Client) => {
              const { status, at } = sent[index] as { status: string; at: string }
              await until(`${status} is taken`, async () => {
                const answer = await move(path, status, { at }, by)
                expect([200, 409]).toContain(answer.status)
                return answer.status === 200
              })
            }
            await Promise.all(order.map((index, nth) => deliver(index, nth % 2 ? owner : driver.client)))
            const { data } = (await owner.get(path)).body
            expect(statuses(data)).toEqual(['unassigned', ...WAY])
            expect(data.history.slice(1).map(({ at }: Entry) => at)).toEqual(sent.map(({ at }) => at))
            expect(data.status).toBe('completed')
          },
        ),
        { numRuns: 4 },
      )
    })
  })

  it('of two who move it at once to different steps one does', async () => {
    for (let round = 0; round < 3; round++) {
      const path = await add('Standard')
      await move(path, 'assigned')
      const answers = await Promise.all(
        // Each once: the same status twice in one millisecond is one entry.
        ['accepted', 'unassigned', 'cancelled', 'on_the_way'].map(status => move(path, status)),
      )
      const { data } = (await owner.get(path)).body
      // Each accepted entry followed its predecessor: the history is a path through the flow.
      const { steps } = flows.find(({ name }) => name === 'Standard') as { steps: Step[] }
      statuses(data).forEach((status, at) => {
        if (at > 0) {
          const before = steps.find(step => step.status === statuses(data)[at - 1])
          expect(before?.next).toContain(status)
        }
      })
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(data.history.length - 2)
      expect(data.status).toBe(data.history.at(-1).status)
    }
  })

  it('has a history with an end: 256 KiB of what steps asked for', async () => {
    const path = await add('Inspection')
    const remark = 'é'.repeat(10_000)
    let answer = await move(path, 'open')
    let entries = 2
    while (answer.status === 200 && entries < 60) {
      entries++
      answer = await move(
        path,
        entries % 2 ? 'done' : 'open',
        entries % 2 ? { fields: { rating: 1, remark } } : {},
      )
    }
    expect([answer.status, answer.body.message]).toEqual([409, expect.stringContaining('full')])
    expect((await owner.get(path)).body.data.history.length).toBe(entries - 1)
  })

  it('moves between unassigned and assigned with the assignee', async () => {
    const { userId } = await addPerson(server, owner)
    const path = await add('Standard', { assigneeId: userId })
    expect(statuses((await owner.get(path)).body.data)).toEqual(['unassigned', 'assigned'])
    const taken = (await owner.patch(path, { assigneeId: null })).body.data
    expect([taken.status, taken.assigneeId]).toEqual(['unassigned', null])
    await owner.patch(path, { assigneeId: userId })
    await move(path, 'accepted')
    const kept = (await owner.patch(path, { assigneeId: null })).body.data
    expect([kept.status, kept.assigneeId]).toEqual(['accepted', null])
    await owner.patch(path, { assigneeId: userId })
    await move(path, 'assigned')
    const back = (await move(path, 'unassigned')).body.data
    expect([back.status, back.assigneeId]).toEqual(['unassigned', null])
    const custom = (await owner.patch(await add('Inspection'), { assigneeId: userId })).body.data
    expect([custom.status, custom.assigneeId]).toEqual(['draft', userId])
  })

  it('stays in its flow: a flow in use is not deleted, and loses no step that a task is in', async () => {
    const flow = flows.find(({ name }) => name === 'Inspection') as {
      _id: string
      name: string
      steps: Step[]
    }
    const path = await add('Inspection')
    await move(path, 'open')
    expect((await owner.delete(`/flow/${flow._id}`)).status).toBe(409)
    const without = (status: string) => ({
      name: flow.name,
      steps: flow.steps
        .filter(step => step.status !== status)
        .map(step => ({ ...step, next: step.next.filter(next => next !== status) })),
    })
    const refused = await owner.put(`/flow/${flow._id}`, without('open'))
    expect([refused.status, refused.body.message]).toEqual([409, expect.stringContaining('open')])
    const other = await owner.post('/flow', { name: 'Other', steps: [{ status: 'x', label: 'X' }] })
    expect((await owner.patch(path, { flowId: other.body.data._id })).body.errors[0].path).toBe('flowId')
    const unused = await owner.delete(`/flow/${other.body.data._id}`)
    expect(unused.status).toBe(200)
  })
})
