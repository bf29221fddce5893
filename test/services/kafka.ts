import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cacheFolder, type Installation, installed, removeTree } from './cache.ts'
import { findExecutable, freePort, linesOf, run } from './commands.ts'
import { requireExecutable } from './debian.ts'
import { claimFolder } from './folders.ts'
import { startServer } from './server.ts'
import { available, type Control, type Service, Unavailable } from './services.ts'

export interface Kafka {
  /** `127.0.0.1:PORT`, or the list of TEST_KAFKA_BROKERS. */
  brokers: string
  /** Null for brokers that the environment names. */
  control: Control | null
}

export interface KafkaOptions {
  /** Used if it is free. */
  port?: number
  /** Broker settings that override the defaults below. */
  settings?: Record<string, string>
  /** Listeners beside the one of `brokers`. */
  listeners?: readonly Listener[]
  /** Users of SCRAM, as `name=...,password=...`, by mechanism. */
  scramUsers?: readonly (readonly [mechanism: string, user: string])[]
  /** Starts a broker even if TEST_KAFKA_BROKERS names some: a crash test must not touch another one's. */
  own?: boolean
  /** For brokers that live only for a test: optimizing their code costs more than it gains. */
  brief?: boolean
}

interface Listener {
  name: string
  port: number
  protocol: 'SSL' | 'SASL_SSL' | 'SASL_PLAINTEXT'
}

/** The last line of a start: the broker is registered, unfenced and serves requests. */
const STARTED = 'Kafka Server started'
const recipe = fileURLToPath(new URL('kafka/', import.meta.url))
const instead =
  'run "docker compose up --detach kafka" and set TEST_KAFKA_BROKERS, for example 127.0.0.1:9092'
// Kafka's default is 1 GB; this is enough for batches of 1 MB on a few dozen partitions.
const heap = '-Xmx512m'
/** They reduce the start from 4.9 to 2.7 s of processor time, and that on an empty disk from 1.7 to 0.9 s. */
const briefly = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC']

/** A single empty Kafka broker that is its own controller, or the brokers of TEST_KAFKA_BROKERS. */
export async function startKafka(options: KafkaOptions = {}): Promise<Service<Kafka>> {
  const brokers = process.env.TEST_KAFKA_BROKERS
  if (brokers && !options.own) return { available: true, brokers, control: null, stop: async () => {} }
  return await available(() => startOwn(options))
}

/** Three brokers, each of them a controller too; any one may be lost. */
export interface KafkaCluster {
  brokers: string[]
  controls: Control[]
  /** Loses a broker finally: its replacement has an empty disk. */
  replace(index: number): Promise<void>
}

const SIZE = 3
/** All of them have the acknowledged records, and two are enough to acknowledge. */
export const replicated = {
  'default.replication.factor': '3',
  'min.insync.replicas': '2',
  'offsets.topic.replication.factor': '3',
}

export async function startKafkaCluster({
  brief = false,
}: Pick<KafkaOptions, 'brief'>): Promise<Service<KafkaCluster>> {
  return await available(async () => {
    const ports = await Promise.all(Array.from({ length: SIZE * 2 }, () => freePort()))
    const controllers = ports.slice(SIZE).map((port, index) => `${index + 1}@127.0.0.1:${port}`)
    const clusterId = newClusterId()
    const brokers = await Promise.all(
      ports.slice(0, SIZE).map((port, index) => {
        const own = { 'node.id': `${index + 1}`, 'controller.quorum.voters': controllers.join(',') }
        const controllerPort = ports[SIZE + index] as number
        return startBroker({
          port,
          controllerPort,
          clusterId,
          settings: { ...replicated, ...own },
          brief,
        })
      }),
    )
    return {
      brokers: ports.slice(0, SIZE).map(port => `127.0.0.1:${port}`),
      controls: brokers,
      async replace(index: number) {
        const broker = brokers[index]
        await broker?.kill9()
        await broker?.format()
        await broker?.start()
      },
      async stop() {
        await Promise.all(brokers.map(broker => broker.stop()))
      },
    }
  })
}

async function startOwn(options: KafkaOptions): Promise<Kafka & { stop(): Promise<void> }> {
  const [port, controllerPort] = await Promise.all([freePort(options.port), freePort()])
  const quorum = { 'controller.quorum.bootstrap.servers': `127.0.0.1:${controllerPort}` }
  const { listeners = [], scramUsers = [] } = options
  const { listeners: usual, 'listener.security.protocol.map': map } = defaults(port, controllerPort, '')
  const more = {
    listeners: [usual, ...listeners.map(({ name, port }) => `${name}://127.0.0.1:${port}`)].join(),
    'listener.security.protocol.map': [
      map,
      ...listeners.map(({ name, protocol }) => `${name}:${protocol}`),
    ].join(),
  }
  const settings = { ...quorum, ...more, ...options.settings }
  const clusterId = newClusterId()
  const { stop, ...control } = await startBroker({
    port,
    controllerPort,
    clusterId,
    settings,
    scramUsers,
    brief: options.brief === true,
  })
  return { brokers: `127.0.0.1:${port}`, control, stop }
}

const javaOptions = (classes: string, brief: boolean) => [
  '-cp',
  classes,
  heap,
  ...(brief ? briefly : []),
  `-Dlog4j2.configurationFile=${join(recipe, 'log4j2.properties')}`,
]

/**
 * An archive of Kafka's classes as Java holds them in memory. Made once, by a broker that starts and ends, for this Java:
 * with another one it is ignored. It reduces a start from 2.5 to 1.65 s of processor time, and the formatting of a disk
 * from 1.05 to 0.6 s.
 */
async function shareClasses(classes: string): Promise<string> {
  const program = realpathSync(findExecutable('java') ?? 'java')
  const hash = createHash('sha256')
    .update(`${program} ${statSync(program).mtimeMs} ${classes}`)
    .digest('hex')
  const make = async ({ folder, log }: Installation) => {
    const ports = [await freePort(), await freePort()] as const
    const quorum = { 'controller.quorum.bootstrap.servers': `127.0.0.1:${ports[1]}` }
    const properties = join(folder, 'server.properties')
    writeProperties(properties, { ...defaults(...ports, join(folder, 'data')), ...quorum })
    const java = javaOptions(classes, true)
    const format = ['format', '--standalone', '--cluster-id', newClusterId(), '--config', properties]
    await run('java', [...java, 'kafka.tools.StorageTool', ...format], { log })
    const dump = `-XX:ArchiveClassesAtExit=${join(folder, 'classes.jsa')}`
    const broker = spawn('java', [...java, dump, 'kafka.Kafka', properties], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const exit = once(broker, 'exit')
    for await (const text of broker.stdout.setEncoding('utf8')) {
      if (text.includes(STARTED)) broker.kill('SIGTERM')
    }
    await exit
    await removeTree(join(folder, 'data'))
  }
  return join(await installed(`kafka-4.1.1-classes-${hash.slice(0, 16)}`, make), 'classes.jsa')
}

const writeProperties = (path: string, settings: Record<string, string>) =>
  writeFileSync(
    path,
    Object.entries(settings)
      .map(pair => `${pair.join('=')}\n`)
      .join(''),
  )

// One of 64 would begin with a hyphen and count as an option.
const newClusterId = () => randomBytes(16).toString('base64url').replace(/^-/, 'A')

/** Starts a broker on an empty disk; `format` empties it again. */
async function startBroker(broker: {
  port: number
  controllerPort: number
  clusterId: string
  settings: Record<string, string>
  scramUsers?: KafkaOptions['scramUsers']
  brief: boolean
}) {
  if (process.platform !== 'linux')
    throw new Unavailable(`Kafka is installed by itself only on Linux: ${instead}`)
  await requireExecutable('java', ['default-jre-headless'], instead)
  // Named for the version in kafka/pom.xml.
  const classes = join(await installed('kafka-4.1.1', install), '*')
  const shared = broker.brief ? [`-XX:SharedArchiveFile=${await shareClasses(classes)}`] : []
  const claim = await claimFolder(join(cacheFolder(), 'run'), 'kafka')
  const { folder } = claim
  const [properties, data] = [join(folder, 'server.properties'), join(folder, 'data')]
  const settings: Record<string, string> = {
    ...defaults(broker.port, broker.controllerPort, data),
    ...broker.settings,
  }
  writeProperties(properties, settings)
  const java = [...javaOptions(classes, broker.brief), ...shared]
  const format = async () => {
    rmSync(data, { recursive: true, force: true })
    // The voters of a quorum are either listed, or the quorum begins with a single one.
    const alone = settings['controller.quorum.voters'] ? [] : ['--standalone']
    const users = broker.scramUsers?.flatMap(([mechanism, user]) => ['--add-scram', `${mechanism}=[${user}]`])
    const options = ['format', ...alone, '--cluster-id', broker.clusterId, '--config', properties]
    await run('java', [...java, 'kafka.tools.StorageTool', ...options, ...(users ?? [])], {
      log: join(folder, 'format.log'),
    })
  }
  await format()
  const server = await startServer({
    claim,
    command: ['java', ...java, 'kafka.Kafka', properties],
    stopSignal: 'TERM',
    isReady: log => log.includes(STARTED),
  })
  return { ...server, format }
}

async function install(to: Installation): Promise<void> {
  await requireExecutable('mvn', ['maven'], instead)
  const options = ['--batch-mode', '--quiet', '--file', join(recipe, 'pom.xml')]
  // The full name: for the short one Maven first requests ten other plugins.
  const goal = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies'
  await run('mvn', [...options, goal, `-DoutputDirectory=${to.folder}`], to).catch(() => {
    const reason = linesOf(to.log, /ERROR/)[0]
    throw new Unavailable(`Maven cannot fetch Kafka (${reason}; all of it in ${to.log}): ${instead}`)
  })
}

function defaults(port: number, controllerPort: number, data: string): Record<string, string> {
  return {
    'node.id': '1',
    'process.roles': 'broker,controller',
    listeners: `BROKER://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'listener.security.protocol.map': 'BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'inter.broker.listener.name': 'BROKER',
    'controller.listener.names': 'CONTROLLER',
    'log.dirs': data,
    // A killed broker waits at its next start until its old registration expires: 4 s with these, 12 s by default.
    'broker.session.timeout.ms': '2000',
    'broker.heartbeat.interval.ms': '500',
    'auto.create.topics.enable': 'false',
    'default.replication.factor': '1',
    'offsets.topic.replication.factor': '1',
    'transaction.state.log.replication.factor': '1',
    'transaction.state.log.min.isr': '1',
    'share.coordinator.state.topic.replication.factor': '1',
    'share.coordinator.state.topic.min.isr': '1',
    // Created when the first consumer group joins; the default is 50.
    'offsets.topic.num.partitions': '4',
    'group.initial.rebalance.delay.ms': '0',
  }
}
