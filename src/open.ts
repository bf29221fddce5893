import { join } from 'node:path'
import proxyAddress from '@fastify/proxy-addr'
import type { FastifyBaseLogger } from 'fastify'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { openDatabase } from '../db/client.ts'
import { watchClock } from '../db/clock.ts'
import { divideDescriptors, readDescriptorLimit } from '../db/descriptors.ts'
import { isAway } from '../db/errors.ts'
import { migrate } from '../db/migrate.ts'
import { createPartitions } from '../db/partitions.ts'
import { findBasemapChoice } from '../db/queries/organizations.ts'
import { retry } from '../db/retry.ts'
import { becomeSingleWriter } from '../db/single-writer.ts'
import { checkTenantRole } from '../db/tenant-role.ts'
import { createScheduler } from '../fair/scheduler.ts'
import { startAdoption } from '../ingest/connections/adoption.ts'
import { holdBrokers } from '../ingest/connections/broker/holders.ts'
import { createIntake } from '../ingest/connections/intake.ts'
import { countRoom, createConnections } from '../ingest/connections.ts'
import { drain } from '../ingest/drain.ts'
import { createTokens } from '../ingest/identity/tokens.ts'
import { createWatcher } from '../ingest/identity/watcher.ts'
import { createLastSeen } from '../ingest/last-seen.ts'
import { createIngestMetrics } from '../ingest/metrics.ts'
import { openMqttServer } from '../ingest/mqtt/server.ts'
import { createProfiles } from '../ingest/profiles/profiles.ts'
import { createLiveClients } from '../stream/live/clients.ts'
import { openLivePositions } from '../stream/live/positions.ts'
import type { Log } from '../stream/log.ts'
import { createWriterMetrics, observe } from '../stream/metrics.ts'
import { createWriter } from '../stream/writer.ts'
import { createApp } from './app.ts'
import { followChoice } from './basemap/chosen.ts'
import { openBasemap } from './basemap/open.ts'
import { publicLookup } from './basemap/public-archive.ts'
import { OWN_ARCHIVE } from './basemap/setting.ts'
import type { Config, Role } from './config.ts'
import { createHoldMetrics } from './hold-metrics.ts'
import { createJobKinds } from './job-kinds.ts'
import { startJobs } from './jobs/runner.ts'
import { openLog } from './log.ts'
import { createFirstAccount } from './resources/auth/first-account.ts'
import { createBrokerSecrets } from './resources/connections/secrets.ts'
import { startGeofences } from './resources/geofence-events/run.ts'
import { createWebhookSecrets, sealStoredSecrets } from './resources/webhooks/secrets.ts'

/** The delay before a starting process asks again for a database that is away. */
const DATABASE_RETRY_MS = 1_000

/** The addresses of a process, once every listener of its roles is open. */
export interface Opened {
  /** The base URL of HTTP, such as `http://127.0.0.1:3000`. */
  url: string
  /** The port of MQTT; null without the role `ingest`. */
  mqttPort: number | null
  /** The account that this start created; null if the database had accounts. */
  firstAccount: Awaited<ReturnType<typeof createFirstAccount>>
}

export interface OpenOptions {
  logger: FastifyBaseLogger
  /** Called when the process has lost its database for good, and must not write any more. */
  onLost(error: Error): void
}

type Closers = (() => Promise<void> | void)[]

/**
 * Opens the parts that the roles of this process need, in the reverse order of a point's way: the table, the log, the
 * writer, the live clients, then the servers. `close` finishes the work in progress (`ingest/drain.ts`) and closes the
 * open parts in reverse order, even before `opened` resolves. If a part fails to open, `opened` rejects and the earlier
 * parts are closed.
 */
export function openProcess(
  config: Config,
  options: OpenOptions,
): { opened: Promise<Opened>; close(): Promise<void> } {
  const closers: Closers = []
  const close = async () => {
    for (const closePart of closers.splice(0).reverse()) await closePart()
  }
  const opened = openParts(config, options, closers).catch(async error => {
    await close()
    throw error
  })
  return { opened, close }
}

async function openParts(config: Config, { logger, onLost }: OpenOptions, closers: Closers): Promise<Opened> {
  const onError = (error: unknown, doing: string) => logger.warn({ err: error }, `Failed: ${doing}`)
  const onNote = (details: object, message: string) => logger.info(details, message)
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const descriptors = divideDescriptors(readDescriptorLimit(), !config.databaseUrl)
  const db = await openDatabase({
    url: config.databaseUrl,
    directUrl: config.databaseDirectUrl,
    directory: join(config.dataDir, 'postgres'),
    maxFiles: descriptors.databaseFiles,
    onError,
    onLost,
    ...(config.databaseUrl ? {} : { onHold: createHoldMetrics(registry, logger) }),
  })
  closers.push(() => db.close())
  await whenThere(async () => {
    const { applied } = await migrate(db.driver)
    await checkTenantRole(db.system)
    if (applied.length > 0) logger.info({ applied }, 'The schema is up to date')
  })
  await whenThere(() => createPartitions(db))
  const clock = await whenThere(() => watchClock({ db: db.system, onError }))
  closers.push(() => clock.close())
  const firstAccount = await whenThere(() => createFirstAccount(db, config.owner))
  await whenThere(() => sealStoredSecrets(db.system, createWebhookSecrets(config.jwtSecret)))
  const tokens = createTokens(config.jwtSecret)

  const has = (role: Role) => config.roles.has(role)
  const single =
    has('writer') && !config.kafka
      ? await whenThere(() => becomeSingleWriter({ driver: db.driver, onError, onLost }))
      : null
  closers.push(() => single?.release())
  const opened =
    has('ingest') || has('writer') || has('live')
      ? await whenThere(() => openLog(config, { db, registry, onError, onNote }))
      : null
  const log = opened?.log ?? null
  closers.push(() => log?.close())

  let lateLog: Promise<Log> | undefined
  let storedPoints = () => 0
  if (log && has('writer')) {
    const metrics = createWriterMetrics(registry)
    storedPoints = metrics.storedPoints
    const writer = createWriter({ db, onError, ...metrics })
    const storing = await log.store(batch =>
      single ? single.store(batch, () => writer.store(batch)) : writer.store(batch),
    )
    closers.push(() => storing.close())
  }

  const positions = log && has('live') ? await whenThere(() => openLivePositions({ db, log, onError })) : null
  closers.push(() => positions?.close())
  const live = positions && { positions, clients: createLiveClients(positions) }
  closers.push(() => live?.clients.close())

  const lastSeen = createLastSeen({ db, onError })
  closers.push(() => lastSeen.close())
  const watcher = createWatcher({ db, onError })
  closers.push(() => watcher.close())
  const profiles = createProfiles({ db, onError })
  closers.push(() => profiles.close())
  const ingest = createIngestMetrics(registry)
  const isProxy = proxyAddress.compile(config.trustedProxies)
  const connections = createConnections({
    max: countRoom(descriptors),
    isProxy: address => isProxy(address, 0),
  })
  const scheduler = createScheduler()
  const intake = log && has('ingest') ? createIntake({ db, log, metrics: ingest, lastSeen, onError }) : null
  closers.push(() => intake?.close())
  const adoption = log && intake ? startAdoption({ db, log, onError }) : null
  closers.push(() => adoption?.close())
  const brokers =
    log && intake
      ? holdBrokers({
          ...{ db, profiles, onError, services: { intake, log, scheduler } },
          allowPrivate: config.connectionsAllowPrivate,
          openSecrets: createBrokerSecrets(config.jwtSecret).open,
        })
      : null
  closers.push(() => brokers?.close())
  const mqtt =
    log && intake
      ? await openMqttServer({
          db,
          log,
          tokens,
          watcher,
          profiles,
          metrics: ingest,
          lastSeen,
          intake,
          scheduler,
          sockets: connections,
          host: config.host,
          port: config.mqttPort,
          tls: config.mqttTls,
          connectionsPerSecond: config.mqttConnectionsPerSecond,
          onError,
        })
      : null
  observe(registry, {
    log,
    connections,
    liveClients: live?.clients,
    mqttConnections: mqtt ? () => mqtt.connections : undefined,
    dataDir: config.dataDir,
    clockOffsetMs: () => clock.offsetMs,
  })
  const openJobLog = log || config.kafka ? openForJobs : null
  const jobs = has('jobs')
    ? await startJobs({
        db,
        kinds: createJobKinds(db, config, { onError, storedPoints, scheduler, openLog: openJobLog }),
        onError,
        alone: !config.databaseUrl,
      })
    : null
  closers.push(() => jobs?.stop())
  const geofences = has('jobs') ? startGeofences({ db, onError }) : null
  closers.push(() => geofences?.stop())

  const basemap = has('api')
    ? await followChoice({
        isFixed: config.basemap !== OWN_ARCHIVE,
        usual: await openBasemap(config, logger),
        readChoice: async () => (await findBasemapChoice(db.system))?.url ?? null,
        open: url => openBasemap({ ...config, basemap: { kind: 'archive', url } }, logger, publicLookup),
        log: logger,
      })
    : null
  closers.push(() => basemap?.close())

  let listening = false
  const app = await createApp(
    {
      config,
      db,
      log,
      tokens,
      watcher,
      live,
      mqtt,
      profiles,
      intake,
      basemap,
      lastSeen,
      scheduler,
      connections,
      clock,
      metrics: { registry, ingest },
      dependencies: {
        database: () => db.system.query('SELECT 1').then(() => true),
        ...opened?.dependencies,
      },
      listening: () => listening,
    },
    logger,
  )
  const http = await app.listen({ host: config.host, port: config.port })
  listening = true
  closers.push(
    () => app.close(),
    () => mqtt?.close(),
    () => {
      listening = false
      return drain(mqtt ? [app.draining, mqtt.draining] : [app.draining], config.drainSeconds * 1_000)
    },
  )

  return { url: http, mqttPort: mqtt ? mqtt.port : null, firstAccount }

  /** The log of the process, or with Kafka one that is opened when a job needs it for the first time. */
  async function openForJobs() {
    if (log) return log
    lateLog ??= openLog(config, { db, registry: new Registry(), onError, onNote }).then(({ log }) => {
      closers.splice(1, 0, () => log.close())
      return log
    })
    lateLog.catch(() => {
      lateLog = undefined
    })
    return lateLog
  }

  /** A server may start before its database, which may also become unavailable during the start. */
  function whenThere<T>(work: () => Promise<T>): Promise<T> {
    return retry(work, {
      firstMs: DATABASE_RETRY_MS,
      again(error) {
        if (!isAway(error)) return false
        onError(error, 'reaching the database, trying again')
        return true
      },
    })
  }
}
