import { parseArgs } from 'node:util'
import { usageError } from './command.ts'

export interface DemoOptions {
  /** The directory of the demo's own data. */
  dataDir: string
  port: number
  mqttPort: number
  /** Whether a browser is opened. */
  open: boolean
}

export const DEMO_HELP = `A company in San Francisco to look at: its server, two weeks of history, and its vehicles on the streets.

  npm run demo -- [options]

  --open               open the browser
  --data <directory>   where the demo keeps its data     (./data-demo)
  --port <number>      of the pages                      (3000; 0 is any free one)
  --mqtt-port <number> where its trackers connect        (1883; 0 is any free one)

It goes on where it was stopped. To begin anew, delete its directory.`

/** The options of `demo`, or null for --help. Throws a usage error that names the wrong option. */
export function readDemoOptions(args: string[]): DemoOptions | null {
  const options = {
    open: { type: 'boolean', default: false },
    data: { type: 'string', default: './data-demo' },
    port: { type: 'string', default: '3000' },
    'mqtt-port': { type: 'string', default: '1883' },
    help: { type: 'boolean', short: 'h', default: false },
  } as const
  const values = parse(() => parseArgs({ args, options }).values)
  if (values.help) return null
  if (values.data.trim() === '') throw usageError('--data is empty.')
  return {
    dataDir: values.data,
    port: readPort('--port', values.port),
    mqttPort: readPort('--mqtt-port', values['mqtt-port']),
    open: values.open,
  }
}

function parse<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof TypeError) throw usageError(`${error.message.split('. ')[0]}.`)
    throw error
  }
}

function readPort(name: string, text: string): number {
  const port = text.trim() === '' ? Number.NaN : Number(text)
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port
  throw usageError(`${name} has to be a port from 0 to 65535, it is "${text}".`)
}
