import pg from 'pg'
import { isAway } from '../errors.ts'

/** PostgreSQL's code for a standby (25006): callers try again, as if nobody had answered. */
const READ_ONLY = '25006'

/**
 * The servers in an address, of which one accepts writes: `postgres://user@first:5432,second:5432/name`, as in libpq.
 * The server that accepted writes last is asked first. If it is lost, or reports that it is a standby, the next one is
 * asked.
 */
export interface Hosts {
  readonly count: number
  /** A client of `pg` for the current server. Its `connect` fails if that server accepts no writes. */
  readonly Client: typeof pg.Client
  /** Connects to the server that accepts writes; each is tried once. */
  connect<Client>(attempt: () => Promise<Client>): Promise<Client>
}

export function createHosts(url: string): Hosts {
  const urls = splitUrl(url)
  let turn = 0

  class HostClient extends pg.Client {
    readonly #turn = turn

    constructor(config: pg.ClientConfig) {
      super({ ...config, connectionString: urls[turn % urls.length] })
      // No other listener exists while the server is being asked, and an unhandled error would end the process.
      this.on('error', () => {})
    }

    override connect(): Promise<pg.Client>
    override connect(callback: (error: Error | null) => void): void
    override connect(callback?: (error: Error | null) => void): Promise<pg.Client> | undefined {
      const connected = this.#connect().catch(error => {
        // Other clients that found the same have moved on already.
        if (turn === this.#turn) turn++
        throw error
      })
      if (!callback) return connected
      connected.then(() => callback(null), callback)
      return undefined
    }

    async #connect(): Promise<pg.Client> {
      await super.connect()
      if (urls.length === 1) return this
      const { rows } = await this.query('SELECT pg_is_in_recovery() AS "isStandby"')
      if (!rows[0].isStandby) return this
      await this.end()
      throw Object.assign(new Error(`The database on ${this.host} is a standby.`), { code: READ_ONLY })
    }
  }

  return {
    count: urls.length,
    Client: HostClient as typeof pg.Client,
    async connect(attempt) {
      for (let left = urls.length - 1; ; left--) {
        try {
          return await attempt()
        } catch (error) {
          if (left === 0 || !isAway(error)) throw error
        }
      }
    },
  }
}

/** The address of each server in `url`; each keeps what stands before and behind the names. */
export function splitUrl(url: string): string[] {
  const [, before, hosts, behind] = /^([^/]*\/\/(?:[^@/]*@)?)([^/?]*)(.*)$/s.exec(url) ?? [
    undefined,
    '',
    url,
    '',
  ]
  return (hosts as string).split(',').map(host => `${before}${host}${behind}`)
}
