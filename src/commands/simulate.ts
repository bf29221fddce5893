import { setTimeout as sleep } from 'node:timers/promises'
import { readEnv } from '../config.ts'
import { createReceiver, hasNetwork } from '../streets/receiver.ts'
import { CommandError, listenForStop, runCommand, say } from './command.ts'
import { createFleet, prepareDevices, type Vehicle } from './fleet.ts'
import { readSimulateOptions, SIMULATE_HELP } from './options.ts'
import { signIn } from './sign-in.ts'
import { openTracker, type Tally, type Tracker } from './tracker.ts'
import { type Driven, playDay } from './working-day.ts'

const REPORT_EVERY_MS = 5_000
/** How long the end waits for outstanding acknowledgements. */
const FINISH_WITHIN_MS = 5_000
const CONNECTIONS_PER_SECOND = 200
const REASONS_SHOWN = 5
const PROGRESS_EVERY = 250

async function simulate(): Promise<void> {
  const options = readSimulateOptions(process.argv.slice(2), readEnv())
  if (!options) return say(SIMULATE_HELP)
  const { url, mqttUrl, devices: count, pointsPerSecond, durationS } = options

  const client = await signIn(url, options.credential)
  const { vehicles, credit } = createFleet(options.trace, count)
  say(`Preparing the devices at ${url} …`)
  const { devices, created } = await prepareDevices(
    client,
    vehicles.map(({ name }) => name),
    ready => {
      if (ready % PROGRESS_EVERY === 0 && ready < count) say(`${ready} of ${count} …`)
    },
  )
  say(
    `${count} devices: ${created} created, ${count - created} of an earlier run with a new key. They drive on ${credit}.`,
  )

  const stopping = listenForStop()
  const stop = stopping.signal
  const tally = createTally()
  const trackers: Tracker[] = []
  const driven: Driven[] = []
  const startedAt = Date.now()
  const everyMs = 1000 / pointsPerSecond
  for (const [index, device] of devices.entries()) {
    if (stop.aborted) break
    const vehicle = vehicles[index] as Vehicle
    const one = { device, placeAt: (now: number) => vehicle.placeAt((now - startedAt) / 1000) }
    driven.push(one)
    const receive = createReceiver(index)
    const tracker = openTracker({
      url: mqttUrl,
      device,
      read: now => receive(one.placeAt(now), now),
      hasNetwork: now => hasNetwork(index, now),
      everyMs,
      delayMs: (everyMs * index) / count,
      tally,
    })
    trackers.push(tracker)
    if (index === 0) await requireFirst(tracker, mqttUrl)
    else if (index % 10 === 0) await sleep(10_000 / CONNECTIONS_PER_SECOND)
  }
  say(`Watch them with: npm run watch -- --url ${url}   End with Ctrl-C.`)

  if (durationS) setTimeout(() => stopping.abort(), durationS * 1000)
  const day = options.day ? playDay(client, driven, stop) : undefined
  await Promise.all([report(trackers, tally, stop), day?.finally(() => stopping.abort())])
  for (const tracker of trackers) tracker.halt()
  await finish(trackers)
  await Promise.race([Promise.all(trackers.map(tracker => tracker.close())), sleep(2_000)])
  summarize(trackers, tally, (Date.now() - startedAt) / 1000)
  const done = await day
  if (done) say(`The day's tasks: ${done.completed} completed, ${done.failed} failed.`)
}

function createTally(): Tally {
  const reasons = new Set<string>()
  return {
    acknowledged: 0,
    rejected: 0,
    dropped: 0,
    lastFailure: '',
    onRejected(name, message) {
      if (reasons.has(message) || reasons.size === REASONS_SHOWN) return
      reasons.add(message)
      say(`A point of ${name} was rejected: ${message}`)
    },
  }
}

/** Connects one device first: an error of the address is better reported once than by every device. */
async function requireFirst(tracker: Tracker, mqttUrl: string): Promise<void> {
  const failure = await tracker.firstAttempt
  if (failure === null) return
  await tracker.close()
  throw new CommandError(
    `The devices cannot connect to ${mqttUrl}: ${failure}.\nThe server's ready line names its MQTT address; give it with --mqtt.`,
  )
}

/** Prints a line every few seconds until the signal is aborted or every device is denied. */
async function report(trackers: readonly Tracker[], tally: Tally, end: AbortSignal): Promise<void> {
  let before = 0
  let at = performance.now()
  while (!end.aborted) {
    await sleep(REPORT_EVERY_MS, undefined, { signal: end }).catch(() => {})
    if (end.aborted) return
    const seconds = (performance.now() - at) / 1000
    at = performance.now()
    say(describeFleet(trackers, tally, (tally.acknowledged - before) / seconds))
    before = tally.acknowledged
    if (trackers.every(({ state }) => state === 'denied')) {
      throw new CommandError(
        'The server denies access to all devices. Did another simulator give them new keys?',
      )
    }
  }
}

function describeFleet(trackers: readonly Tracker[], tally: Tally, perSecond: number): string {
  const inState = (state: Tracker['state']) => trackers.filter(tracker => tracker.state === state).length
  const online = trackers.filter(tracker => tracker.hasNetwork)
  const waiting = online.reduce((sum, tracker) => sum + tracker.waiting, 0)
  const [away, denied] = [inState('away'), inState('denied')]
  return [
    new Date().toTimeString().slice(0, 8),
    `${inState('connected')}/${trackers.length} connected`,
    `${tally.acknowledged} points acknowledged`,
    `${perSecond.toFixed(1)}/s`,
    `${tally.rejected} rejected`,
    // A few always wait; more than one for each device means that the server is slow or away.
    ...(waiting > online.length ? [`${waiting} waiting`] : []),
    ...(tally.dropped > 0 ? [`${tally.dropped} dropped, the server was away for too long`] : []),
    ...(away > 0 ? [`${away} trying again (${tally.lastFailure})`] : []),
    ...(denied > 0 ? [`${denied} denied: key replaced or device deleted`] : []),
  ].join('  ')
}

async function finish(trackers: readonly Tracker[]): Promise<void> {
  const deadline = Date.now() + FINISH_WITHIN_MS
  const busy = () => trackers.some(({ state, waiting }) => state === 'connected' && waiting > 0)
  while (busy() && Date.now() < deadline) await sleep(20)
}

function summarize(trackers: readonly Tracker[], tally: Tally, seconds: number): void {
  const lost = trackers.reduce((sum, tracker) => sum + tracker.waiting, 0) + tally.dropped
  say(
    `${trackers.length} devices, ${seconds.toFixed(0)} s: ${tally.acknowledged} points acknowledged` +
      ` (${(tally.acknowledged / seconds).toFixed(1)}/s), ${tally.rejected} rejected, ${lost} without acknowledgement.`,
  )
}

await runCommand(simulate)
