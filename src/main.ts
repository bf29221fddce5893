import closeWithGrace from 'close-with-grace'
import { pino } from 'pino'
import { ConfigError, readEnv, toConfig } from './config.ts'
import { describeFirstSteps } from './first-steps.ts'
import { openProcess } from './open.ts'

/** Added to the drain time: jobs have 5 s to stop, and acknowledgements as long. */
const STOP_WITHIN_MS = 15_000

const logger = pino(
  { level: 'info', base: undefined, timestamp: pino.stdTimeFunctions.isoTime },
  pino.destination(2),
)

try {
  const config = toConfig(readEnv())
  const { opened, close } = openProcess(config, {
    logger,
    onLost(error) {
      logger.fatal({ err: error }, 'The process cannot go on, and ends')
      process.exit(1)
    },
  })
  const delay = config.drainSeconds * 1_000 + STOP_WITHIN_MS
  closeWithGrace({ delay, logger: false }, async ({ err, signal }) => {
    if (err) logger.fatal({ err }, 'The process fails')
    else logger.info(`Stopping on ${signal}`)
    await close()
  })
  const { url, mqttPort, firstAccount } = await opened
  if (firstAccount) {
    process.stdout.write(describeFirstSteps(firstAccount, url, config.roles.has('api') ? mqttPort : null))
  }
  const mqttAddress = mqttPort === null ? '' : ` mqtt://${config.host}:${mqttPort}`
  process.stdout.write(`fieldline ready ${url}${mqttAddress}\n`)
} catch (error) {
  const known = error instanceof ConfigError || (error instanceof Error && !(error instanceof TypeError))
  process.stderr.write(
    `fieldline cannot start: ${known ? (error as Error).message : String((error as Error).stack)}\n`,
  )
  process.exit(1)
}
