import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startPostgres } from '../services/postgres.ts'
import type { TestDatabase } from '../support/database.ts'
import { startTestKafka } from '../support/kafka.ts'
import { startServer } from '../support/server.ts'
import { startBrokers } from './brokers.ts'
import { runBystanderOn } from './bystander.ts'
import { deployCluster, toBroker } from './cluster.ts'
import { type CommandReport, runCommandRoundsOn } from './commands.ts'
import { FOREIGN_ENV, type ForeignReport, runForeignBrokerOn } from './foreign-broker.ts'
import { openHome } from './home.ts'
import type { LoadReport } from './load.ts'
import { type Network, putBehindNetworks, startDatabaseNetwork, startKafkaNetwork } from './networks.ts'
import { type Outage, outagesOf, runOutagesOn } from './outages.ts'
import { createOwnPostgres } from './own-postgres.ts'
import { cutPower } from './power/cuts.ts'
import { record } from './power/record.ts'
import { buildRelease } from './releases.ts'
import { runRoll } from './roll.ts'
import { type Deployment, deployServer, runRoundsOn } from './rounds.ts'
import { startPrimaryAndStandby } from './standby.ts'
import { type Gauge, gaugesOfEmbedded, gaugesOfKafka, gaugesOfPostgres, runSteadyOn } from './steady.ts'
import { runUpgrade } from './upgrade.ts'

const USAGE = `npm run integrity -- [--tier embedded|one-machine|cluster] [--rounds 100 | --outages SECONDS | --power-cuts 1000 | --steady MINUTES | --bystander | --upgrade-from COMMIT | --roll | --commands]
  [--devices 20] [--rate POINTS] [--plain] [--machines] [--network] [--foreign-broker]

Kills a random process with -9 every round while devices publish, then compares every acknowledged point with the
history. With --outages it freezes, then kills, each service that the tier leans on, for so long each, and shows what
piles up meanwhile. With --power-cuts (embedded alone) it records what the server does to its directory, and looks for
what was acknowledged in what a disk could hold after so many cuts. With --steady
the load is even, half of the maximum or --rate points a second, and what grows under it is shown; elsewhere devices publish as
fast as they are acknowledged, or at --rate. --plain takes PostgreSQL without TimescaleDB. With --machines PostgreSQL has a standby, and what is killed of the two is the one that takes writes, for good: the standby
takes its place, and an empty one follows. In the cluster there are three brokers, of which one comes back with an empty
disk, or two are killed. With --network every round a network between two parts is bad, for 3 s or those of --outages: it is
late, trickles, loses what goes one way, or resets connections. With --foreign-broker 100 devices (or --devices) publish 2,000 points
a second (or --rate) to a Mosquitto whose client Fieldline is, and Mosquitto is killed as well. With --commands devices get commands
instead, lose their connections and answer twice; in the cluster they connect to two processes in turn. With --bystander (embedded alone) one organization sends what
costs most, and what another one waits meanwhile is shown; --load 8 runs the loads whose name begins so. With --upgrade-from the processes
of the release of a commit, which is built first, are replaced by those of this one, back, and forth again, under points, requests, webhooks and screens. With --roll (cluster alone) every process behind nginx is replaced
in turn, under 50 devices, 20 screens and 25 requests a second.`

const { values } = parseArgs({
  options: {
    tier: { type: 'string', default: 'embedded' },
    rounds: { type: 'string', default: '100' },
    outages: { type: 'string' },
    'power-cuts': { type: 'string' },
    steady: { type: 'string' },
    rate: { type: 'string' },
    devices: { type: 'string' },
    plain: { type: 'boolean', default: false },
    machines: { type: 'boolean', default: false },
    network: { type: 'boolean', default: false },
    'foreign-broker': { type: 'boolean', default: false },
    commands: { type: 'boolean', default: false },
    bystander: { type: 'boolean', default: false },
    load: { type: 'string' },
    'upgrade-from': { type: 'string' },
    roll: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

const env = values['foreign-broker'] ? FOREIGN_ENV : {}

interface Tier {
  deployment: Deployment
  outages: Outage[]
  gauges: Gauge[]
  remove(): Promise<void>
}

async function main(): Promise<number> {
  const deploy = { embedded: deployEmbedded, 'one-machine': deployOneMachine, cluster: deployInCluster }[
    values.tier
  ]
  const isElsewhere =
    ((values['power-cuts'] !== undefined || values.bystander) && values.tier !== 'embedded') ||
    (values.roll && values.tier !== 'cluster')
  if (values.help || !deploy || isElsewhere) {
    console.log(USAGE)
    return values.help ? 0 : 2
  }
  if (values['power-cuts'] !== undefined) return cutPowerOften(Number(values['power-cuts']))
  if (values.bystander) return watchBystander()
  if (values.roll) return roll()
  if (values['upgrade-from'] !== undefined) return upgradeFrom(values['upgrade-from'])
  const tier = await deploy()
  const rate = values.rate === undefined ? undefined : Number(values.rate)
  const shared = {
    devices: Number(values.devices ?? (values['foreign-broker'] ? 100 : 20)),
    rate,
    log: console.log,
  }
  try {
    if (values.steady !== undefined) {
      const options = { ...shared, minutes: Number(values.steady) }
      const { rows, report } = await runSteadyOn(tier.deployment, tier.gauges, options)
      console.table(rows)
      console.table([report])
      return isKept(report) && rows.every(({ kept }) => kept) ? 0 : 1
    }
    if (values['foreign-broker']) {
      const options = { ...shared, rate: rate ?? 2_000, rounds: Number(values.rounds), killWithinMs: 3_000 }
      const report = await runForeignBrokerOn(tier.deployment, options)
      console.table([report])
      return isKept(report) && isTakenOver(report) ? 0 : 1
    }
    if (values.commands) {
      const options = { ...shared, rounds: Number(values.rounds), killWithinMs: 3_000 }
      const report = await runCommandRoundsOn(tier.deployment, options)
      console.table([report])
      return isCarriedOut(report) ? 0 : 1
    }
    if (values.network) {
      const seconds = Number(values.outages ?? 3)
      const inTurn = Array.from(
        { length: Number(values.rounds) },
        (_, round) => tier.outages[round % tier.outages.length] as Outage,
      )
      const options = { ...shared, seconds, settleSeconds: 1, keepalive: 4 }
      const { outages, report } = await runOutagesOn(tier.deployment, inTurn, options)
      console.table(outages)
      console.table([report])
      return isKept(report) ? 0 : 1
    }
    if (values.outages === undefined) {
      const options = { ...shared, rounds: Number(values.rounds), killWithinMs: 3_000 }
      const report = await runRoundsOn(tier.deployment, options)
      console.table([report])
      return isKept(report) ? 0 : 1
    }
    const options = { ...shared, seconds: Number(values.outages), settleSeconds: 20 }
    const { outages, report } = await runOutagesOn(tier.deployment, tier.outages, options)
    console.table(outages)
    console.table([report])
    return isKept(report) && report.closed === 0 ? 0 : 1
  } finally {
    await tier.remove()
  }
}

const isKept = (report: { lost: number; doubled: number; altered: number; invented: number }) =>
  report.lost + report.doubled + report.altered + report.invented === 0

const isCarriedOut = ({ lost, doubled, late, disordered, altered }: CommandReport) =>
  lost + doubled + late + disordered + altered === 0

/** Another process holds the connection to a broker so long after the death of its holder. */
const TAKE_OVER_SECONDS = 15

const isTakenOver = ({ slowestTakeOver }: ForeignReport) => (slowestTakeOver ?? 0) <= TAKE_OVER_SECONDS

/** Cuts for each recording. A new recording has a different load and different kills. */
const CUTS_EACH = 100

async function cutPowerOften(cuts: number): Promise<number> {
  const total = { recordings: 0, cuts: 0, promised: 0, lost: 0, invented: 0, broken: 0 }
  while (total.cuts < cuts) {
    const dataDir = mkdtempSync(join(tmpdir(), 'fieldline-integrity-'))
    const remove = async () => rmSync(dataDir, { recursive: true, force: true })
    // Each recording begins with the first start: the power may fail while the database is set up.
    const recording = await record(
      { kind: 'pglite', url: undefined, dataDir, remove },
      { lives: 3, roundsEach: 2, log: console.log },
    )
    const seed = Math.floor(Math.random() * 2 ** 31)
    const report = await cutPower(recording, {
      cuts: Math.min(CUTS_EACH, cuts - total.cuts),
      seed,
      log: console.log,
    })
    recording.remove()
    await remove()
    total.recordings++
    for (const key of ['cuts', 'promised', 'lost', 'invented', 'broken'] as const) total[key] += report[key]
    console.table([total])
  }
  return total.lost + total.invented + total.broken === 0 ? 0 : 1
}

async function watchBystander(): Promise<number> {
  const dataDir = mkdtempSync(join(tmpdir(), 'fieldline-integrity-'))
  const remove = async () => rmSync(dataDir, { recursive: true, force: true })
  const server = await startServer(
    { kind: 'pglite', url: undefined, dataDir, remove },
    { RATE_LIMIT_PER_MINUTE: '0' },
  )
  try {
    const rows = await runBystanderOn(server, { only: values.load, log: console.log })
    console.table(rows)
    return rows.every(({ kept }) => kept) ? 0 : 1
  } finally {
    await server.stop()
    await remove()
  }
}

async function upgradeFrom(commit: string): Promise<number> {
  const from = await buildRelease(commit, console.log)
  const home = await openHome(values.tier, values.plain)
  try {
    const report = await runUpgrade({
      ...{ tier: values.tier, from, database: home.database, env: home.env, log: console.log },
      devices: Number(values.devices ?? 20),
      rate: Number(values.rate ?? 200),
    })
    for (const sentence of report.refused) console.log(`refused: ${sentence}`)
    return showLoad(report) + report.forgotten === 0 ? 0 : 1
  } finally {
    await home.remove()
  }
}

async function roll(): Promise<number> {
  const home = await openHome(values.tier, values.plain)
  try {
    const report = await runRoll({
      ...{ database: home.database, env: home.env, log: console.log },
      ...{ devices: Number(values.devices ?? 50), screens: 20, requestsPerSecond: 25 },
      rate: Number(values.rate ?? 200),
    })
    return showLoad(report) === 0 ? 0 : 1
  } finally {
    await home.remove()
  }
}

/** Prints what became of a load, and returns the number of faults. */
function showLoad({ points, requests, ...others }: LoadReport): number {
  const { failed, ...counts } = requests
  console.table([points])
  console.table([{ failed: failed.length, ...counts }])
  console.log(JSON.stringify(others))
  for (const line of failed.slice(0, 20)) console.log(line)
  const lost = isKept(points) ? 0 : 1
  return lost + failed.length + requests.missing + requests.forged + others.wrongScreens
}

async function deployEmbedded(): Promise<Tier> {
  const dataDir = mkdtempSync(join(tmpdir(), 'fieldline-integrity-'))
  const remove = async () => rmSync(dataDir, { recursive: true, force: true })
  const database: TestDatabase = { kind: 'pglite', url: undefined, dataDir, remove }
  // Its database is part of the deployment.
  const deployment = await deployServer(database, [], env)
  if (values.network) return { ...(await toTier(deployment, [])), remove }
  return { deployment, outages: [], gauges: gaugesOfEmbedded(dataDir), remove }
}

async function toTier(deployment: Deployment, others: Network[]): Promise<Omit<Tier, 'remove'>> {
  const behind = await putBehindNetworks(deployment, others)
  return { ...behind, gauges: [], outages: behind.networks.flatMap(({ outages }) => outages) }
}

async function deployOneMachine(): Promise<Tier> {
  const postgres = await startOwnPostgres()
  if (values.network) {
    const { network, database } = await startDatabaseNetwork(postgres.database)
    return { ...(await toTier(await deployServer(database), [network])), remove: postgres.stop }
  }
  const deployment = await deployServer(postgres.database, [postgres.victim], env)
  const gauges = gaugesOfPostgres(postgres.database.url as string)
  return { deployment, outages: postgres.outages, gauges, remove: postgres.stop }
}

async function deployInCluster(): Promise<Tier> {
  if (values.machines) return deployOnMachines()
  if (values.network) return deployBehindNetworks()
  const folder = mkdtempSync(join(tmpdir(), 'fieldline-integrity-'))
  const data = join(folder, 'kafka')
  const [postgres, kafka] = await Promise.all([startOwnPostgres(), startTestKafka({ folder: data })])
  if (kafka.missing) throw new Error(kafka.missing)
  const deployment = await deployCluster(postgres.database, kafka, [toBroker(kafka), postgres.victim], {
    env,
    hasSecondIngest: values['foreign-broker'] || values.commands,
  })
  return {
    deployment,
    outages: [...outagesOf('Kafka', kafka.control), ...postgres.outages],
    gauges: [...gaugesOfPostgres(postgres.database.url as string), ...gaugesOfKafka(data)],
    async remove() {
      await kafka.stop()
      await postgres.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function deployBehindNetworks(): Promise<Tier> {
  const [postgres, { network, kafka }] = await Promise.all([startOwnPostgres(), startKafkaNetwork()])
  if (kafka.missing) throw new Error(kafka.missing)
  const behind = await startDatabaseNetwork(postgres.database)
  const cluster = await deployCluster(behind.database, kafka)
  return {
    ...(await toTier(cluster, [behind.network, network])),
    async remove() {
      await kafka.stop()
      await postgres.stop()
    },
  }
}

async function deployOnMachines(): Promise<Tier> {
  const [postgres, kafka] = await Promise.all([startPrimaryAndStandby(), startBrokers()])
  return {
    deployment: await deployCluster(postgres.database, kafka, [...kafka.victims, postgres.victim]),
    outages: [],
    gauges: [],
    async remove() {
      await kafka.stop()
      await postgres.stop()
    },
  }
}

async function startOwnPostgres() {
  if (values.machines) return { ...(await startPrimaryAndStandby()), outages: [] }
  const service = await startPostgres({ own: true, timescaledb: !values.plain })
  if (!service.available || !service.control) throw new Error('PostgreSQL cannot be had here')
  const { control, stop } = service
  const outages = outagesOf('PostgreSQL', control)
  return { ...(await createOwnPostgres(service.url, control)), outages, stop }
}

process.exitCode = await main()
