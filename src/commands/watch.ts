import { setTimeout as sleep } from 'node:timers/promises'
import { readEnv } from '../config.ts'
import { ServerAway, signIn } from './api.ts'
import { CommandError, describeFailure, listenForStop, runCommand, say } from './command.ts'
import { followLive, type LiveMessage } from './live.ts'
import { readWatchOptions, WATCH_HELP } from './options.ts'
import { cleanName, formatPosition, HEADER } from './position-line.ts'

const RETRY_FIRST_MS = 1_000
const RETRY_MAX_MS = 5_000

/**
 * Shows live positions until Ctrl-C. After a lost connection it opens another one and continues at the last message's
 * cursor, so that nothing is missed. An ended token is replaced by signing in again, if possible.
 */
async function watch(): Promise<void> {
  const options = readWatchOptions(process.argv.slice(2), readEnv())
  if (!options) return say(WATCH_HELP)
  const { url, credential } = options
  const stop = listenForStop().signal
  const display = createDisplay()
  let token: string | undefined
  let lost = false
  let retryMs = RETRY_FIRST_MS

  const onMessage = (message: LiveMessage) => {
    if (display.cursor === null) say(`Watching ${url}   End with Ctrl-C.\n${HEADER}`)
    else if (lost) say('Connected again; what changed meanwhile:')
    lost = false
    retryMs = RETRY_FIRST_MS
    display.show(message)
  }

  while (!stop.aborted) {
    token ??= await signIn(url, credential).catch(error => {
      // At the start the address may be wrong; later the server is expected to return.
      if (!(error instanceof ServerAway) || display.cursor === null) throw error
      return undefined
    })
    if (token !== undefined) {
      const ending = await followLive({ url, token, since: display.cursor, stop, onMessage })
      if (ending.kind === 'stopped') return
      if (ending.kind === 'forbidden')
        throw new CommandError('Your role may not watch positions (view/location).')
      if (ending.kind === 'not-there') throw new CommandError(`The server at ${url} is not Fieldline.`)
      if (ending.kind === 'token-ended') {
        if ('token' in credential) {
          throw new CommandError(
            'The token is expired or revoked (4401). Sign in again and give the new one with --token.',
          )
        }
        say('The token is expired or revoked (4401): signing in again.')
        token = undefined
      } else {
        const why = describeFailure(ending.failure)
        if (display.cursor === null)
          throw new CommandError(`There is no server at ${url}: ${why}.\nStart one with: npm start`)
        if (!lost) say(`Connection lost: ${why}. Trying again …`)
      }
      lost = true
    }
    await sleep(retryMs, undefined, { signal: stop }).catch(() => {})
    retryMs = Math.min(retryMs * 2, RETRY_MAX_MS)
  }
}

/** Prints messages, and remembers the cursor and the names of subjects for later messages. */
function createDisplay() {
  const names = new Map<string, string>()
  let cursor: string | null = null
  return {
    get cursor() {
      return cursor
    },
    show(message: LiveMessage): void {
      switch (message.type) {
        case 'snapshot':
        case 'positions':
          cursor = message.cursor
          for (const { subjectId, name } of message.positions) names.set(subjectId, name)
          if (message.positions.length > 0) say(message.positions.map(formatPosition).join('\n'))
          else if (message.type === 'snapshot')
            say('No positions yet: waiting. Have some with: npm run simulate')
          return
        case 'gone':
          for (const subjectId of message.subjectIds) {
            say(`gone: ${cleanName(names.get(subjectId) ?? subjectId)}`)
            names.delete(subjectId)
          }
          return
        case 'error':
          say(`The server says: ${message.message}`)
      }
    },
  }
}

await runCommand(watch)
