import { join } from 'node:path'
import proxyAddress from '@fastify/proxy-addr'
import type { FastifyBaseLogger } from 'fastify'
import { Registry } from 'prom-client'
import { openDatabase } from '../db/client.ts'
import { watchClock } from '../db/clock.ts'
import { divideDescriptors, readDescriptorLimit } from '../db/descriptors.ts'
import { hasRoom } from '../db/drivers/pglite-room.ts'
import { isAway } from '../db/errors.ts'
import { createPartitions } from '../db/partitions.ts'
import { findBasemapChoice } from '../db/queries/organizations.ts'
import { setRetention } from '../db/retention.ts'
import { retry } from '../db/retry.ts'
import { becomeSingleWriter } from '../db/single-writer.ts'
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
import { createTenants } from '../ingest/mqtt/tenants.ts'
import { createProfiles } from '../ingest/profiles/profiles.ts'
import { createTraces } from '../ingest/traces.ts'
import { createLiveClients } from '../stream/live/clients.ts'
import { openLivePositions } from '../stream/live/positions.ts'
import type { Log } from '../stream/log.ts'
import { createLiveDelay, createWriterMetrics, observe } from '../stream/metrics.ts'
import { createWriter } from '../stream/writer.ts'
import { createApp } from './app.ts'
import { followChoice } from './basemap/chosen.ts'
import { openBasemap } from './basemap/open.ts'
import { publicLookup } from './basemap/public-archive.ts'
import { OWN_ARCHIVE } from './basemap/setting.ts'
import type { Config, Role } from './config.ts'
import type { FirstAccount } from './first-steps.ts'
import { createHoldMetrics } from './hold-metrics.ts'
import { closeWithFailure } from './http/plugins/raw-errors.ts'
import type { Release } from './http/release.ts'
import { createJobKinds } from './job-kinds.ts'
import { startJobs } from './jobs/runner.ts'
import { openLog } from './log.ts'
import { observeLanes, observeNode, observeRelease, observeWork } from './metrics.ts'
import { createFirstAccount } from './resources/auth/first-account.ts'
import { createBrokerSecrets } from './resources/connections/secrets.ts'
import { startGeofences } from './resources/geofence-events/run.ts'
import { startReports } from './resources/health-history/reports.ts'
import { createWebhookSecrets, sealStoredSecrets } from './resources/webhooks/secrets.ts'
import { createSchemaCheck, prepareSchema } from './schema.ts'
import { openMetricsServer, openStandIn } from './small-server.ts'
import { explainStart, isFinal } from './start-failures.ts'

/** The delay before a starting process asks again for a database that is away. */
const DATABASE_RETRY_MS = 1_000

/** The addresses of a process, once every listener of its roles is open. */
export interface Opened {
  /** The base URL of HTTP, such as `http://127.0.0.1:3000`. */
  url: string
  /** The port of MQTT; null without the role `ingest`. */
  mqttPort: number | null
  /** The account that this start created; null if the database had accounts. */
  firstAccount: FirstAccount | null
}

export interface OpenOptions {
  logger: FastifyBaseLogger
  release: Release
  /** Called as soon as the first account is stored: nobody can read its password later, even if the start fails. */
  onFirstAccount?(account: FirstAccount): void
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
    throw explainStart(error, config)
  })
  return { opened, close }
}

async function openParts(
  config: Config,
  { logger, release, onFirstAccount, onLost }: OpenOptions,
  closers: Closers,
): Promise<Opened> {
  const onError = (error: unknown, doing: string) => logger.warn({ err: error }, `Failed: ${doing}`)
  const onNote = (details: object, message: string) => logger.info(details, message)
  setRetention(config.retentionDays)
  // Nobody can know a port that is chosen later.
  const standIn = config.port === 0 ? null : await openStandIn(config, release)
  closers.push(() => standIn?.close())
  const registry = new Registry()
  observeNode(registry)
  observeRelease(registry, release)
  const descriptors = divideDescriptors(readDescriptorLimit(), !config.databaseUrl)
  let isPrepared = false
  const db = await openDatabase({
    url: config.databaseUrl,
    directUrl: config.databaseDirectUrl,
    directory: join(config.dataDir, 'postgres'),
    maxFiles: descriptors.databaseFiles,
    onError,
    onLost,
    ...(config.databaseUrl ? {} : { onHold: createHoldMetrics(registry, logger, () => isPrepared) }),
  })
  closers.push(() => db.close())
  const { readLanes } = db.driver
  if (readLanes) observeLanes(registry, readLanes)
  if (config.roles.has('jobs'))
    observeWork(registry, db.system, { isPublic: config.metricsPort === undefined })
  await whenThere(async () => {
    await prepareSchema(db, logger)
  })
  await whenThere(() => createPartitions(db))
  isPrepared = true
  // Before anything is read that is kept in memory.
  await db.hearChanges()
  const clock = await whenThere(() => watchClock({ db: db.system, onError }))
  closers.push(() => clock.close())
  const firstAccount = await whenThere(() => createFirstAccount(db, config.owner))
  if (firstAccount) onFirstAccount?.(firstAccount)
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
  let isDiskFull = () => false
  if (log && has('writer')) {
    const metrics = createWriterMetrics(registry)
    storedPoints = metrics.storedPoints
    const writer = createWriter({ db, onError, ...metrics })
    isDiskFull = () => writer.isDiskFull
    const storing = await log.store(batch =>
      single ? single.store(batch, () => writer.store(batch)) : writer.store(batch),
    )
    closers.push(() => storing.close())
  }

  const positions = log && has('live') ? await whenThere(() => openLivePositions({ db, log, onError })) : null
  closers.push(() => positions?.close())
  const live = positions && { positions, clients: createLiveClients(positions, createLiveDelay(registry)) }
  closers.push(() => live?.clients.close())

  const lastSeen = createLastSeen({ db, onError })
  closers.push(() => lastSeen.close())
  const traces = createTraces({ db, onError })
  closers.push(() => traces.close())
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
  const tenants = createTenants()
  const intake =
    log && has('ingest') ? createIntake({ db, log, metrics: ingest, lastSeen, traces, onError }) : null
  closers.push(() => intake?.close())
  const adoption = log && intake ? startAdoption({ db, log, onError }) : null
  closers.push(() => adoption?.close())
  const brokers =
    log && intake
      ? holdBrokers({
          ...{ db, profiles, onError, services: { intake, log, scheduler, tenants } },
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
          traces,
          intake,
          scheduler,
          tenants,
          sockets: connections,
          host: config.host,
          port: config.mqttPort,
          tls: config.mqttTls && {
            ...config.mqttTls,
            refuseRequest: closeWithFailure,
            corsOrigins: config.corsOrigins,
          },
          connectionsPerSecond: config.mqttConnectionsPerSecond,
          writesHeader: address => config.mqttProxyProtocol && isProxy(address, 0),
          onError,
          onNote,
        })
      : null
  observe(registry, {
    log,
    connections,
    liveClients: live?.clients,
    countOnline: live?.positions.countOnline,
    mqttConnections: mqtt ? () => mqtt.connections : undefined,
    dataDir: config.dataDir,
    clockOffsetMs: () => clock.offsetMs,
  })
  const reports = startReports({ db: db.system, registry, onError })
  closers.push(() => reports.stop())
  const openJobLog = log || config.kafka ? openForJobs : null
  const kinds = createJobKinds(db, config, { onError, storedPoints, scheduler, openLog: openJobLog })
  const jobs = has('jobs')
    ? await whenThere(() => startJobs({ db, kinds, onError, alone: !config.databaseUrl }))
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

  const metricsServer =
    config.metricsPort === undefined
      ? null
      : await openMetricsServer({ host: config.host, port: config.metricsPort }, registry)
  if (metricsServer) onNote({ port: metricsServer.port }, 'The metrics are on a port of their own')
  closers.push(() => metricsServer?.close())
  let listening = false
  const app = await createApp(
    {
      config,
      release,
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
      traces,
      scheduler,
      connections,
      clock,
      metrics: { registry, ingest },
      dependencies: {
        database: createSchemaCheck(db),
        ...opened?.dependencies,
        ...(has('writer') && {
          disk: async () => !isDiskFull() && (config.databaseUrl !== undefined || hasRoom(config.dataDir)),
        }),
      },
      listening: () => listening,
    },
    logger,
  )
  await standIn?.close()
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
        if (!isAway(error) || isFinal(error)) return false
        onError(explainStart(error, config), 'reaching the database, trying again')
        return true
      },
    })
  }
}
