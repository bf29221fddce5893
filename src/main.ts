import closeWithGrace from 'close-with-grace'
import { type Logger, pino } from 'pino'
import { type Config, ConfigError, readEnv, toConfig } from './config.ts'
import { describeFirstAccount, describeFirstSteps } from './first-steps.ts'
import { readRelease } from './http/release.ts'
import { createLogger } from './logger.ts'
import { openProcess } from './open.ts'

/** Added to the drain time: jobs have 5 s to stop, and acknowledgements as long. */
const STOP_WITHIN_MS = 15_000
/** A start has nothing to finish, and may wait for a database that holds it back. */
const STOP_START_WITHIN_MS = 3_000

let logger: Logger | undefined
let close = async () => {}
let isOpen = false
let isStopping = false

try {
  const config = toConfig(readEnv(), sentence => logger?.warn(sentence))
  logger = createLogger(config.logLevel, pino.destination(2))
  stopOnSignal(config, logger)
  await start(config, logger)
} catch (error) {
  // A start fails when a stop closes the parts below it: the stop decides the exit code.
  if (!isStopping) refuse(error)
}

/** A signal ends the process in order, at any moment of its start too. */
function stopOnSignal(config: Config, logger: Logger): void {
  const delay = config.drainSeconds * 1_000 + STOP_WITHIN_MS
  closeWithGrace({ delay, logger: false }, async ({ err, signal }) => {
    isStopping = true
    if (err) logger.fatal({ err }, 'The process fails')
    else logger.info(`Stopping on ${signal}`)
    await (isOpen ? close() : closeStart(logger))
  })
}

async function closeStart(logger: Logger): Promise<void> {
  const late = new Promise<void>(resolve => setTimeout(resolve, STOP_START_WITHIN_MS))
  const closed = close().catch(error => logger.warn({ err: error }, 'Failed: closing a start'))
  await Promise.race([closed, late])
}

async function start(config: Config, logger: Logger): Promise<void> {
  const release = readRelease()
  logger.info(`Fieldline ${release.version} (${release.commit}), ${tierOf(config)}, ${rolesOf(config)}`)
  const started = openProcess(config, {
    logger,
    release,
    onFirstAccount: account => process.stdout.write(describeFirstAccount(account)),
    onLost(error) {
      logger.fatal({ err: error }, 'The process cannot go on, and ends')
      process.exit(1)
    },
  })
  close = started.close
  const { url, mqttPort, firstAccount } = await started.opened
  isOpen = true
  if (firstAccount && mqttPort !== null && config.roles.has('api'))
    process.stdout.write(describeFirstSteps(firstAccount, url, mqttPort))
  const mqttAddress = mqttPort === null ? '' : ` mqtt://${config.host}:${mqttPort}`
  process.stdout.write(`fieldline ready ${url}${mqttAddress}\n`)
}

function refuse(error: unknown): never {
  const known = error instanceof ConfigError || (error instanceof Error && !(error instanceof TypeError))
  process.stderr.write(
    `fieldline cannot start: ${known ? (error as Error).message : String((error as Error).stack)}\n`,
  )
  process.exit(1)
}

function tierOf({ databaseUrl, kafka }: Config): string {
  if (!databaseUrl) return 'embedded'
  return kafka ? 'cluster' : 'one machine'
}

function rolesOf({ roles }: Config): string {
  return `roles ${[...roles].join(',')}`
}
