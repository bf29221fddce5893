import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { components, Fieldline } from '#client'
import type { Place } from '../streets/track.ts'
import { CommandError, say } from './command.ts'
import { type Driver, prepareCrew } from './crew.ts'
import type { Credentials } from './fleet.ts'
import { isAway, isRefused } from './sign-in.ts'

/**
 * A working day in a few minutes. The simulator plans as the signed-in user and gives each driver a task on the way
 * ahead. The driver accepts it, drives there and completes it, or fails. Drivers are users of their own, who only see
 * and change their own tasks. A driver reports when something happened, and repeats the report until it is accepted, as
 * a phone does.
 */
export interface Driven {
  device: Credentials
  placeAt: (now: number) => Place
}

export interface Step {
  status: string
  fields: { key: string; type: string; required: boolean; options: string[] }[]
}
export interface Flow {
  _id: string
  name: string
  steps: Step[]
}

/** More drivers would crowd the screen. */
const MAX_DRIVERS = 12
/** The distance of a new task, in seconds of driving. */
const AHEAD_S = { least: 15, most: 40 }
const WORK_S = { least: 3, most: 8 }
/** The share of tasks that fail. */
const FAILING = 0.15
const RETRY_MS = 2_000
/** The task was meanwhile cancelled, deleted or assigned to somebody else on a screen. */
export const TAKEN_AWAY = [404, 409]
const WAY = ['unassigned', 'assigned', 'accepted', 'on_the_way', 'in_progress', 'completed', 'failed']
const JOBS = ['Deliver parcels', 'Collect returns', 'Read the meter', 'Bring the post', 'Check the lift']

/** Gives work to the drivers of the first devices until `stop`. Resolves to the numbers of completed and failed tasks. */
export async function playDay(
  client: Fieldline,
  driven: readonly Driven[],
  stop: AbortSignal,
): Promise<{ completed: number; failed: number }> {
  const flow = await findFlow(client)
  const done = { completed: 0, failed: 0 }
  const working = driven.slice(0, MAX_DRIVERS)
  // Each driver listens to the signal, in addition to the other listeners.
  setMaxListeners(2 * MAX_DRIVERS, stop)
  const crew = await prepareCrew(
    client,
    working.map(({ device }) => device),
  )
  say(`${crew.length} drivers are given work by the flow ${flow.name}: see GET /tasks, or the page at /.`)
  await Promise.all(
    working.map(async ({ placeAt }, index) => {
      const driver = crew[index] as Driver
      await pause(index * 500, stop)
      while (!stop.aborted) {
        const end = await work(client, flow, driver, placeAt, stop)
        if (end) done[end]++
      }
    }),
  )
  return done
}

async function work(
  client: Fieldline,
  flow: Flow,
  driver: Driver,
  placeAt: Driven['placeAt'],
  stop: AbortSignal,
): Promise<'completed' | 'failed' | null> {
  const there = Date.now() + between(AHEAD_S) * 1000
  const { lat, lng } = placeAt(there)
  const task = await keepTrying(stop, () =>
    client.post('/task', {
      body: {
        name: JOBS[Math.floor(Math.random() * JOBS.length)] as string,
        flowId: flow._id,
        assigneeId: driver.userId,
        vehicleId: driver.vehicleId,
        location: { lat, lng },
        startTime: new Date(there).toISOString(),
        endTime: new Date(there + 10 * 60_000).toISOString(),
      },
    }),
  )
  if (!task) return null
  const { _id, code } = task.data
  const move = async (status: string) => {
    const now = Date.now()
    const { lat, lng } = placeAt(now)
    const at = new Date(now).toISOString()
    const body = { status, at, lat, lng, fields: fillFields(flow, status) }
    try {
      return (await keepTrying(stop, () => setStatus(driver.client, _id, body))) !== null
    } catch (error) {
      if (!isRefused(error) || !TAKEN_AWAY.includes(error.status)) throw error
      say(`${driver.name} leaves ${code} alone: ${error.message}`)
      return false
    }
  }
  for (const status of ['accepted', 'on_the_way']) {
    await pause(1_500, stop)
    if (!(await move(status))) return null
  }
  await pause(there - Date.now(), stop)
  const end = Math.random() < FAILING ? 'failed' : 'completed'
  if (end === 'completed') {
    if (!(await move('in_progress'))) return null
    await pause(between(WORK_S) * 1000, stop)
  }
  if (!(await move(end))) return null
  say(`${driver.name} has ${end} ${code}.`)
  return end
}

export const setStatus = (client: Fieldline, id: string, body: components['schemas']['TaskMove']) =>
  client.post('/task/{id}/status', { params: { path: { id } }, body })

/** Retries while the server is away; null once the signal is aborted. Other errors are thrown. */
export async function keepTrying<T>(stop: AbortSignal, call: () => Promise<T>): Promise<T | null> {
  while (!stop.aborted) {
    try {
      return await call()
    } catch (error) {
      if (!isAway(error)) throw error
      await pause(RETRY_MS, stop)
    }
  }
  return null
}

/** A flow with all steps of a day, if possible the one whose steps have fields. */
async function findFlow(client: Fieldline): Promise<Flow> {
  const { data } = await client.get('/flows', { params: { query: { limit: 500 } } })
  const whole = data.filter(({ steps }) => WAY.every(name => steps.some(({ status }) => status === name)))
  const flow = whole.find(({ name }) => name === 'Delivery') ?? whole[0]
  if (!flow) throw new CommandError(`No flow has the steps ${WAY.join(', ')}.`)
  return flow
}

/** A value for each required field of a step. */
export function fillFields({ steps }: Flow, status: string): { [key: string]: unknown } {
  const fields = steps.find(step => step.status === status)?.fields.filter(({ required }) => required) ?? []
  return Object.fromEntries(
    fields.map(({ key, type, options }) => [
      key,
      options.length > 0
        ? options[Math.floor(Math.random() * options.length)]
        : type === 'number'
          ? 1
          : 'As ordered',
    ]),
  )
}

export const between = ({ least, most }: { least: number; most: number }) =>
  least + Math.random() * (most - least)

export const pause = (ms: number, stop: AbortSignal) =>
  sleep(Math.max(0, ms), undefined, { signal: stop }).catch(() => {})
