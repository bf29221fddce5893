import { type Client, createDevice, signIn, type TestDevice } from '../support/client.ts'
import { type CommandListener, type Heard, listenForCommands } from '../support/commands.ts'
import { pause, until } from '../support/wait.ts'
import type { Deployment, RoundsOptions, Victim } from './rounds.ts'

export interface CommandReport {
  /** Commands that were made: their POST was answered 201. */
  made: number
  /** PUBLISHes of them, and those with DUP among these. */
  handedOver: number
  again: number
  answered: number
  expired: number
  /** Commands that are not there, or that were to be answered and have no answer. */
  lost: number
  /** PUBLISHes without DUP of a command that had come before. */
  doubled: number
  /** PUBLISHes of a command that had ended: it was seen expired, or its answer was acknowledged. */
  late: number
  /** Commands that came for the first time after a later one. */
  disordered: number
  /** Commands whose result is another than the first answer. */
  altered: number
}

/** One command in ten has hardly any time. */
const SHORT = 10
const SHORT_SECONDS = 2
const RECONNECT_MS = 100

/**
 * A device that is subscribed to its commands, and does by chance what devices do: it acknowledges or loses the connection
 * before, answers at once or after the next connection, and answers a second time with something else. Until its first answer
 * is acknowledged it sends that again.
 */
class CommandedDevice {
  readonly device: TestDevice
  /** Each PUBLISH, in order. */
  readonly heard: Heard[] = []
  /** The first answer to each command. */
  readonly answers = new Map<string, { status: string; result: number }>()
  late = 0
  /** Commands that have ended: the connection at that time, and how many had come on it. */
  readonly #ended = new Map<string, { listener: CommandListener | null; count: number }>()
  #listener: CommandListener | null = null
  #isOver = false
  readonly #run: Promise<void>

  constructor(device: TestDevice, mqttPort: () => number) {
    this.device = device
    this.#run = this.#live(mqttPort)
  }

  /** Notes that a command has ended: it must not come any more. */
  end(id: string): void {
    const listener = this.#listener
    if (!this.#ended.has(id)) this.#ended.set(id, { listener, count: listener?.heard().length ?? 0 })
  }

  async finish(): Promise<void> {
    this.#isOver = true
    await this.#run
  }

  async #live(mqttPort: () => number): Promise<void> {
    while (!this.#isOver) {
      const clean = Math.random() < 0.5
      this.#listener = await listenForCommands({ mqttPort: mqttPort() }, this.device, { clean }).catch(
        () => null,
      )
      if (this.#listener) await this.#listen(this.#listener).catch(() => {})
      await this.#listener?.cut()
      this.heard.push(...(this.#listener?.heard() ?? []))
      await pause(RECONNECT_MS)
    }
  }

  /** Ends with the connection, or rejects. */
  async #listen(listener: CommandListener): Promise<void> {
    const closed = listener.raw.closed.then(() => true)
    // What was answered without an acknowledgement is answered again.
    for (const [id, answer] of this.answers)
      if (!this.#ended.has(id)) await this.#answer(listener, id, answer)
    for (let next = 0; !this.#isOver; ) {
      for (const command of listener.heard().slice(next)) {
        const ended = this.#ended.get(command.id)
        if (ended && (ended.listener !== listener || next >= ended.count)) this.late++
        next++
        if (Math.random() < 0.1) return
        listener.acknowledge(command)
        const known = this.answers.get(command.id)
        const answer = known ?? { status: Math.random() < 0.8 ? 'done' : 'failed', result: Math.random() }
        this.answers.set(command.id, answer)
        // It remembers a command that it has acknowledged.
        if (Math.random() < 0.1) return
        await this.#answer(listener, command.id, answer)
        if (Math.random() < 0.3)
          await this.#answer(listener, command.id, { status: 'done', result: 'another' })
      }
      if (await Promise.race([closed, pause(10).then(() => false)])) return
    }
  }

  /** Resolves when the answer is acknowledged; rejects if the connection is lost before. */
  async #answer(listener: CommandListener, id: string, answer: object): Promise<void> {
    const lost = listener.raw.closed.then(() => Promise.reject(new Error('The connection is lost')))
    await Promise.race([listener.answer(id, answer), lost])
    this.end(id)
  }
}

/**
 * Commands are made all the time for devices that answer, lose their connections and answer twice, while, round after round, a
 * victim is killed with -9 at a random moment and restarted. At the end every command has to have an end.
 */
export async function runCommandRoundsOn(
  deployment: Deployment,
  { rounds, devices: count, killWithinMs, log = () => {} }: RoundsOptions,
): Promise<CommandReport> {
  const owner = await signIn(deployment)
  const ports = () => deployment.mqttPorts?.() ?? [deployment.mqttPort]
  const anyPort = () => ports()[Math.floor(Math.random() * ports().length)] as number
  const devices: CommandedDevice[] = []
  for (let n = 0; n < count; n++) devices.push(new CommandedDevice(await createDevice(owner), anyPort))
  const maker = startMaker(owner, devices)

  for (let round = 1; round <= rounds; round++) {
    const before = maker.made.size
    await until('commands are made', () => maker.made.size >= before + 2 * count)
    await pause(Math.random() * killWithinMs)
    const victim = deployment.victims[round % deployment.victims.length] as Victim
    await victim.killAndRestart()
    log(`round ${round}: ${maker.made.size} commands made, then killed ${victim.name}`)
  }
  const goOn = maker.made.size
  await until('commands are made again', () => maker.made.size > goOn + count)
  await maker.finish()
  const report = await check(owner, devices, maker.made)
  await deployment.stop()
  return report
}

/** Makes commands one after the other. A POST without an answer is sent again under its key. */
function startMaker(owner: Client, devices: readonly CommandedDevice[]) {
  /** By identifier: its device, and whether it has hardly any time. */
  const made = new Map<string, { deviceId: string; isShort: boolean }>()
  let isOver = false
  const run = (async () => {
    for (let n = 0; !isOver; n++) {
      const { device } = devices[n % devices.length] as CommandedDevice
      const isShort = n % SHORT === SHORT - 1
      const body = {
        name: `Command ${n}`,
        payload: { n },
        ...(isShort && { expiresInSeconds: SHORT_SECONDS }),
      }
      const key = `${device.id}-${n}`
      for (;;) {
        const answer = await owner
          .post(`/device/${device.id}/command`, body, { 'idempotency-key': key })
          .catch(() => null)
        if (answer?.status === 201) made.set(answer.body.data._id, { deviceId: device.id, isShort })
        // A device that is away long enough has too many that wait.
        if (answer?.status === 201 || answer?.status === 409) break
        await pause(RECONNECT_MS)
      }
      await pause(20)
    }
  })()
  return {
    made,
    async finish() {
      isOver = true
      await run
    },
  }
}

// biome-ignore lint/suspicious/noExplicitAny: commands as the interface shows them
type Shown = any

async function listAll(owner: Client, deviceId: string): Promise<Map<string, Shown>> {
  const all = new Map<string, Shown>()
  for (let cursor = ''; ; ) {
    const { status, body } = await owner.get(`/device/${deviceId}/commands?limit=500${cursor}`)
    if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`)
    for (const command of body.data) all.set(command._id, command)
    if (!body.pagination.nextCursor) return all
    cursor = `&cursor=${body.pagination.nextCursor}`
  }
}

async function check(
  owner: Client,
  devices: readonly CommandedDevice[],
  made: ReadonlyMap<string, { deviceId: string; isShort: boolean }>,
): Promise<CommandReport> {
  const report = { made: made.size, handedOver: 0, again: 0, answered: 0, expired: 0 }
  const faults = { lost: 0, doubled: 0, late: 0, disordered: 0, altered: 0 }
  for (const one of devices) {
    const read = () => listAll(owner, one.device.id)
    await until('all commands have ended', async () => {
      const commands = await read()
      // What has expired must not come any more.
      for (const { _id, state } of commands.values()) if (state === 'expired') one.end(_id)
      return [...commands.values()].every(({ finishedAt }) => finishedAt !== null)
    })
    await one.finish()
    const commands = await read()
    for (const [id, { deviceId, isShort }] of made) {
      if (deviceId !== one.device.id) continue
      const { state = 'missing', result } = commands.get(id) ?? {}
      const answer = one.answers.get(id)
      if (state === 'expired') report.expired++
      else report.answered++
      if (state === 'missing' || (state === 'expired' && !isShort)) faults.lost++
      else if (state !== 'expired' && (answer?.status !== state || answer?.result !== result))
        faults.altered++
    }
    const order = [...commands.values()].toReversed().map(({ _id }) => _id)
    let newest = -1
    const seen = new Set<string>()
    for (const { id, dup } of one.heard) {
      report.handedOver++
      if (dup) report.again++
      else if (seen.has(id)) faults.doubled++
      if (!seen.has(id) && order.indexOf(id) < newest) faults.disordered++
      newest = Math.max(newest, order.indexOf(id))
      seen.add(id)
    }
    faults.late += one.late
  }
  return { ...report, ...faults }
}
