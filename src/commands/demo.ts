import { spawn } from 'node:child_process'
import type { Fieldline } from '#client'
import { CommandError, listenForStop, runCommand, say } from './command.ts'
import { driveCompany } from './company-fleet.ts'
import { DEMO_HELP, readDemoOptions } from './demo-options.ts'
import { type DemoServer, startDemoServer } from './demo-server.ts'
import { isRefused, signIn } from './sign-in.ts'
import { keepTrying, pause } from './working-day.ts'

/**
 * A look at the product: the server with a sample company, whose vehicles drive through San Francisco over real MQTT
 * connections. It uses the public interface alone.
 */
const SAY_EVERY_MS = 5_000
const WEEK_MS = 7 * 24 * 3_600_000
/** A timer of Node.js takes no more. */
const MAX_WAIT_MS = 2 ** 31 - 1
const SIGNED_OUT = 401
/** The company's: its people begin at eight in the morning there. */
const TIME_ZONE = 'America/Los_Angeles'
const DELETED =
  'The sample company was deleted, so no vehicle drives any more; the server goes on. Its live map has a button that creates the company again, and then its vehicles drive.'
const DELETED_FOR_GOOD =
  'The sample company was deleted, so no vehicle drives any more; the server goes on. A new one is offered once the organization has no hub of its own, or to a demo in another directory (--data).'
const NO_COMPANY =
  'No vehicle drives: the organization has a hub of its own and no sample company. Start the demo in another directory with --data for a new one.'
const FAILED =
  'The sample company could not be created. Delete it on the live map, and create it there again.'

interface SampleData {
  status: 'none' | 'creating' | 'there' | 'failed'
  progress: number
  isOffered: boolean
}

async function demo(): Promise<void> {
  const options = readDemoOptions(process.argv.slice(2))
  if (!options) return say(DEMO_HELP)
  const stopping = listenForStop()
  say('Starting the server …')
  const server = await startDemoServer(options)
  try {
    await Promise.race([
      show(server, options.open, stopping.signal),
      server.ended.then(sentence => {
        throw new CommandError(sentence)
      }),
    ])
  } finally {
    stopping.abort()
    await server.stop()
  }
  say('The demo has stopped. The next run goes on from here.')
}

/** Shows the company until `stop` is aborted. Whoever changes the password of the demo keeps the server. */
async function show(server: DemoServer, isOpened: boolean, stop: AbortSignal): Promise<void> {
  try {
    await showCompany(server, isOpened, stop)
  } catch (error) {
    if (!isRefused(error) || error.status !== SIGNED_OUT) throw error
    const { url, email, password } = server
    say(
      `The password of ${email} is another one now, so the demo cannot drive its vehicles; the server goes on at ${url}. Set it back to ${password} in Settings, and start the demo again.`,
    )
    await pause(MAX_WAIT_MS, stop)
  }
}

async function showCompany(server: DemoServer, isOpened: boolean, stop: AbortSignal): Promise<void> {
  const { url, email, password } = server
  const client = await signIn(url, { email, password })
  const missing = await requireCompany(client)
  await warnOfMap(client)
  say(`\n  Open     ${url}\n  Sign in  ${email}, with the password ${password}\n`)
  if (missing) say(missing)
  if (isOpened) openBrowser(url)
  while (!stop.aborted) {
    await driveCompany(
      client,
      server,
      async ([deviceId], over) => {
        const link = await findLink(client, server, deviceId)
        if (link) say(`The link that a customer gets: ${link}`)
        await reportHistory(client, over)
      },
      stop,
    )
    if (stop.aborted) return
    const left = await keepTrying(stop, () => readSampleData(client))
    if (left) say(left.isOffered ? DELETED : DELETED_FOR_GOOD)
  }
}

/** Orders the company, or goes on with the one that is there. Returns why there is none and none can be ordered. */
async function requireCompany(client: Fieldline): Promise<string | null> {
  const { status, isOffered } = await readSampleData(client)
  if (isOffered) {
    await client.patch('/organization', { body: { timeZone: TIME_ZONE } })
    await client.post('/organization/sample-data')
  } else if (status === 'failed') return FAILED
  else if (status === 'none') return NO_COMPANY
  return null
}

const readSampleData = async (client: Fieldline): Promise<SampleData> =>
  (await client.get('/organization/sample-data')).data

/** Says so where the map has no streets. */
async function warnOfMap(client: Fieldline): Promise<void> {
  const { data } = await client.get('/basemap')
  if (data.tiles === null)
    say(
      'The map shows outlines alone, because basemap/sanfrancisco.pmtiles is missing or damaged: get that file again, and start the demo again.',
    )
}

/** The tracking link of the last run while it shows the same device, else a new one. */
async function findLink(
  client: Fieldline,
  server: DemoServer,
  deviceId: string | undefined,
): Promise<string | null> {
  if (!deviceId) return null
  const kept = server.readLink()
  if (kept?.deviceId === deviceId) {
    const answer = await fetch(`${server.url}/api/v3/location-history/tracking/${kept.token}`)
    if (answer.ok) return `${server.url}/track/${kept.token}`
  }
  const expiresAt = new Date(Date.now() + WEEK_MS).toISOString()
  const body = { subjectId: deviceId, subjectType: 'device' as const, trailMinutes: 30, expiresAt }
  const { data } = await client.post('/tracking-link', { body })
  server.keepLink({ deviceId, token: data.token })
  return data.url
}

async function reportHistory(client: Fieldline, over: AbortSignal): Promise<void> {
  let isCreating = false
  while (!over.aborted) {
    const state = await keepTrying(over, () => readSampleData(client))
    if (state?.status !== 'creating') {
      if (isCreating && state?.status === 'there')
        say('Two weeks of history are there: look at a day in Playback.')
      return
    }
    isCreating = true
    say(`Two weeks of history are being written: ${Math.round(state.progress * 100)} %`)
    await pause(SAY_EVERY_MS, over)
  }
}

function openBrowser(url: string): void {
  const command = { darwin: 'open', win32: 'explorer' }[process.platform as string] ?? 'xdg-open'
  const browser = spawn(command, [url], { stdio: 'ignore', detached: true })
  browser.on('error', () => say(`No browser could be opened here: open ${url} yourself.`))
  browser.unref()
}

await runCommand(demo)
