import { join } from 'node:path'
import { type Logger, pino } from 'pino'
import { type Database, openDatabase } from '../../db/client.ts'
import type { Driver } from '../../db/drivers/driver.ts'
import { type Config, readEnv, toConfig } from '../config.ts'
import { createLogger } from '../logger.ts'
import { explainStart } from '../start-failures.ts'

/** A command for whoever runs the server, with the server's variables and database. */
export interface Operation {
  config: Config
  db: Database & { driver: Driver }
  logger: Logger
}

/** Wrong arguments; the message is how to call it. */
export class UsageError extends Error {}

/**
 * Runs a command: prints its sentence and exits with 0, or one sentence to standard error and exits with 1, or with 2 for
 * wrong arguments.
 */
export async function operate(
  doing: string,
  work: (operation: Operation) => Promise<string>,
  checkArguments: () => void = () => {},
): Promise<void> {
  try {
    checkArguments()
    const config = toConfig(readEnv())
    const logger = createLogger(config.logLevel, pino.destination(2))
    const explain = (error: unknown): never => {
      throw explainStart(error, config)
    }
    const db = await openDatabase({
      url: config.databaseUrl,
      directUrl: config.databaseDirectUrl,
      directory: join(config.dataDir, 'postgres'),
      onError: (error, doing) => logger.warn({ err: error }, `Failed: ${doing}`),
    }).catch(explain)
    try {
      process.stdout.write(`${await work({ config, db, logger }).catch(explain)}\n`)
    } finally {
      await db.close()
    }
  } catch (error) {
    if (error instanceof UsageError) {
      process.stderr.write(`${error.message}\n`)
      process.exit(2)
    }
    // An error of the program itself keeps its stack.
    const isOurs = error instanceof Error && !(error instanceof TypeError)
    process.stderr.write(
      `fieldline cannot ${doing}: ${isOurs ? error.message : String((error as Error)?.stack)}\n`,
    )
    process.exit(1)
  }
}
