import { type Fieldline, FieldlineError, type LiveMessage } from '#client'
import { readEnv } from '../config.ts'
import { CommandError, listenForStop, runCommand, say } from './command.ts'
import { readWatchOptions, WATCH_HELP } from './options.ts'
import { cleanName, formatPosition, HEADER } from './position-line.ts'
import { signIn } from './sign-in.ts'

const TOKEN_ENDED = 'The token is expired or revoked (4401)'

/**
 * Shows live positions until Ctrl-C. The client opens a lost connection again at the last message's cursor, so that nothing is
 * missed, and replaces an ended token by signing in again, if possible.
 */
async function watch(): Promise<void> {
  const options = readWatchOptions(process.argv.slice(2), readEnv())
  if (!options) return say(WATCH_HELP)
  const { url, credential } = options
  const stop = listenForStop().signal
  let lost = false
  const client = await signIn(url, credential, () => say(`${TOKEN_ENDED}: signing in again.`))
  const display = createDisplay()
  const onLost = (reason: string) => {
    if (!display.isOpen)
      throw new FieldlineError(0, 'unreachable', `There is no server at ${url}.`, null, reason)
    if (!lost) say(`Connection lost: ${reason}. Trying again …`)
    lost = true
  }
  for await (const message of follow(client, stop, onLost)) {
    if (!display.isOpen) say(`Watching ${url}   End with Ctrl-C.\n${HEADER}`)
    else if (lost) say('Connected again; what changed meanwhile:')
    lost = false
    display.show(message)
  }
}

/** The live messages, with failures in words that say what to do. */
async function* follow(client: Fieldline, signal: AbortSignal, onLost: (reason: string) => void) {
  try {
    yield* client.live({ signal, onLost })
  } catch (error) {
    if (!(error instanceof FieldlineError)) throw error
    if (error.status === 401)
      throw new CommandError(`${TOKEN_ENDED}. Sign in again and give the new one with --token.`)
    if (error.status === 403 || error.code === 'refused')
      throw new CommandError('Your role may not watch positions (view/location).')
    if (error.status === 404) throw new CommandError(`The server at ${client.baseUrl} is not Fieldline.`)
    throw error
  }
}

/** Prints messages, and remembers the names of subjects for later messages. */
function createDisplay() {
  const names = new Map<string, string>()
  let isOpen = false
  return {
    /** Whether a message has come. */
    get isOpen() {
      return isOpen
    },
    show(message: LiveMessage): void {
      isOpen = true
      if (message.type === 'snapshot' || message.type === 'positions') {
        for (const { subjectId, name } of message.positions) names.set(subjectId, name)
        if (message.positions.length > 0) say(message.positions.map(formatPosition).join('\n'))
        else if (message.type === 'snapshot')
          say('No positions yet: waiting. Have some with: npm run simulate')
      } else if (message.type === 'gone') {
        for (const subjectId of message.subjectIds) {
          say(`gone: ${cleanName(names.get(subjectId) ?? subjectId)}`)
          names.delete(subjectId)
        }
      }
    },
  }
}

await runCommand(watch)
