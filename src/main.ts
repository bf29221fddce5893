import { join } from 'node:path'
import closeWithGrace from 'close-with-grace'
import { pino } from 'pino'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { openDatabase } from '../db/client.ts'
import { isAway } from '../db/errors.ts'
import { migrate } from '../db/migrate.ts'
import { createPartitions } from '../db/partitions.ts'
import { retry } from '../db/retry.ts'
import { becomeSingleWriter } from '../db/single-writer.ts'
import { checkTenantRole } from '../db/tenant-role.ts'
import { createTokens } from '../ingest/identity/tokens.ts'
import { createWatcher } from '../ingest/identity/watcher.ts'
import { createLastSeen } from '../ingest/last-seen.ts'
import { createIngestMetrics } from '../ingest/metrics.ts'
import { openMqttServer } from '../ingest/mqtt/server.ts'
import { createTurns } from '../ingest/turns.ts'
import { createLiveClients } from '../stream/live/clients.ts'
import { openLivePositions } from '../stream/live/positions.ts'
import { createWriterMetrics, observe } from '../stream/metrics.ts'
import { createWriter } from '../stream/writer.ts'
import { createFirstAccount } from './api/auth/first-account.ts'
import { EXPORTABLES } from './api/exports/resources.ts'
import { createApp } from './app.ts'
import { type Config, ConfigError, type Role, readEnv, toConfig } from './config.ts'
import { describeFirstSteps } from './first-steps.ts'
import { startGeofences } from './jobs/geofences/run.ts'
import { createJobKinds } from './jobs/kinds.ts'
import { startJobs } from './jobs/runner.ts'
import { createWebhookSecrets, sealStoredSecrets } from './jobs/webhooks/secrets.ts'
import { openLog } from './log.ts'

/** How long a start waits before it asks again for a database that is away. */
const DATABASE_RETRY_MS = 1_000
/** What an orderly stop may take: acknowledgements are waited for at most 5 s of it. */
const STOP_WITHIN_MS = 15_000

/**
 * Opens what the roles of this process need, in the order in which a point travels back from its end: the table, the
 * log, the writer, the live clients, then the servers; and closes in reverse.
 */
async function start(config: Config): Promise<void> {
  const logger = pino(
    { level: 'info', base: undefined, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination(2),
  )
  const onError = (error: unknown, doing: string) => logger.warn({ err: error }, `Failed: ${doing}`)
  const onLost = (error: Error) => {
    logger.fatal({ err: error }, 'The process cannot go on, and ends')
    // Not in order: nothing may be written any more, and what was acknowledged is durable.
    process.exit(1)
  }
  const closers: (() => Promise<void> | void)[] = []
  const closeAll = async () => {
    for (const close of closers.reverse()) await close()
  }
  closeWithGrace({ delay: STOP_WITHIN_MS, logger: false }, async ({ err, signal }) => {
    if (err) logger.fatal({ err }, 'The process fails')
    else logger.info(`Stopping on ${signal}`)
    await closeAll()
  })

  const db = await openDatabase({
    url: config.databaseUrl,
    directUrl: config.databaseDirectUrl,
    directory: join(config.dataDir, 'postgres'),
    onError,
    onLost,
  })
  closers.push(() => db.close())
  await whenThere(async () => {
    const { applied } = await migrate(db.driver)
    await checkTenantRole(db.system)
    if (applied.length > 0) logger.info({ applied }, 'The schema is up to date')
  })
  await whenThere(() => createPartitions(db))
  const firstAccount = await whenThere(() => createFirstAccount(db, config.owner))
  await whenThere(() => sealStoredSecrets(db.system, createWebhookSecrets(config.jwtSecret)))
  const tokens = createTokens(config.jwtSecret)
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })

  const has = (role: Role) => config.roles.has(role)
  const single =
    has('writer') && !config.kafka
      ? await whenThere(() => becomeSingleWriter({ driver: db.driver, onError, onLost }))
      : null
  closers.push(() => single?.release())
  const opened =
    has('ingest') || has('writer') || has('live')
      ? await whenThere(() => openLog(config, { db, registry, onError }))
      : null
  const log = opened?.log ?? null
  closers.push(() => log?.close())

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
  const ingest = createIngestMetrics(registry)
  const turns = createTurns()
  const mqtt =
    log && has('ingest')
      ? await openMqttServer({
          db,
          log,
          tokens,
          watcher,
          metrics: ingest,
          lastSeen,
          turns,
          host: config.host,
          port: config.mqttPort,
          tls: config.mqttTls,
          connectionsPerSecond: config.mqttConnectionsPerSecond,
          onError,
        })
      : null
  observe(registry, {
    log,
    liveClients: live?.clients,
    mqttConnections: mqtt ? () => mqtt.connections : undefined,
    dataDir: config.dataDir,
  })
  const jobs = has('jobs')
    ? await startJobs({
        db,
        kinds: createJobKinds(db, config, { exportables: EXPORTABLES, onError, storedPoints }),
        onError,
        alone: !config.databaseUrl,
      })
    : null
  closers.push(() => jobs?.stop())
  const geofences = has('jobs') ? startGeofences({ db, onError }) : null
  closers.push(() => geofences?.stop())

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
      lastSeen,
      turns,
      metrics: { registry, ingest },
      dependencies: {
        database: () => db.system.query('SELECT 1').then(() => true),
        ...(opened && { log: opened.answers }),
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
  )

  if (firstAccount) {
    process.stdout.write(describeFirstSteps(firstAccount, http, has('api') && mqtt ? mqtt.port : null))
  }
  const mqttAddress = mqtt ? ` mqtt://${config.host}:${mqtt.port}` : ''
  process.stdout.write(`fieldline ready ${http}${mqttAddress}\n`)

  /** A server may start before its database, which may also go away while it starts. */
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

try {
  await start(toConfig(readEnv()))
} catch (error) {
  const known = error instanceof ConfigError || (error instanceof Error && !(error instanceof TypeError))
  process.stderr.write(
    `fieldline cannot start: ${known ? (error as Error).message : String((error as Error).stack)}\n`,
  )
  process.exit(1)
}
