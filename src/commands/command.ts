import { FieldlineError } from '#client'

/** A failure of a command that its user can solve; the message says how. */
export class CommandError extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

/** Wrong arguments. Shells use the same exit code. */
export const usageError = (message: string) =>
  new CommandError(`${message}\nRun it with --help to see the options.`, 2)

export function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** Runs a command to its end: exits with 0, or prints one sentence to standard error and exits with the failure's code. */
export async function runCommand(command: () => Promise<void>): Promise<never> {
  // A reader that needs no more lines (`| head`) closes the pipe.
  process.stdout.on('error', () => process.exit(0))
  try {
    await command()
  } catch (error) {
    process.stderr.write(`${describeEnd(error)}\n`)
    process.exit(error instanceof CommandError ? error.exitCode : 1)
  }
  process.exit(0)
}

function describeEnd(error: unknown): string {
  if (error instanceof CommandError) return error.message
  if (!(error instanceof FieldlineError))
    return error instanceof Error ? (error.stack ?? error.message) : String(error)
  if (error.status !== 0) return error.message
  return `${error.message.slice(0, -1)}: ${describeFailure(error.cause)}.\nStart one with: npm start`
}

/** Aborts at the first Ctrl-C, or when the terminal is closed, so that the command can end in order; a second one ends it at once. */
export function listenForStop(): AbortController {
  const controller = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => controller.abort())
  return controller
}

const ERRNO: Record<string, string> = {
  ECONNREFUSED: 'nobody listens there',
  ECONNRESET: 'the connection was cut',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the name of the host cannot be looked up',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ETIMEDOUT: 'there is no answer',
  EPIPE: 'the connection was cut',
}

/** The reason why a connection failed, in words. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return 'there is no answer'
  const { code } = error as NodeJS.ErrnoException
  if (code && ERRNO[code]) return ERRNO[code]
  // fetch, and connections to a name with several addresses, wrap the original error.
  if (error instanceof AggregateError && error.errors.length > 0) return describeFailure(error.errors[0])
  if (error.cause) return describeFailure(error.cause)
  return error.message
}
