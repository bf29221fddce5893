import pg from 'pg'
import { isAway } from '../errors.ts'

/** As PostgreSQL says that a server is a standby (25006): whoever asks comes again, as where nobody answers. */
const READ_ONLY = '25006'

/**
 * The servers that an address names, of which one takes writes: `postgres://user@first:5432,second:5432/name`, as libpq
 * has it. The one that did last is asked first. Where it is lost, or says that it is a standby, the next one is.
 */
export interface Hosts {
  readonly count: number
  /** A client of `pg` for the server whose turn it is. Its `connect` fails where that takes no writes. */
  readonly Client: typeof pg.Client
  /** A connection to the one that takes writes; each is tried once. */
  connect<Client>(attempt: () => Promise<Client>): Promise<Client>
}

export function createHosts(url: string): Hosts {
  const urls = splitUrl(url)
  let turn = 0

  class HostClient extends pg.Client {
    readonly #turn = turn

    constructor(config: pg.ClientConfig) {
      super({ ...config, connectionString: urls[turn % urls.length] })
      // While it is asked what it is nobody listens yet, and an error would end the process.
      this.on('error', () => {})
    }

    override connect(): Promise<pg.Client>
    override connect(callback: (error: Error | null) => void): void
    override connect(callback?: (error: Error | null) => void): Promise<pg.Client> | undefined {
      const connected = this.#connect().catch(error => {
        // Others that found the same have passed it over already.
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

/** The address of each server that `url` names; each has what stands before and behind the names. */
export function splitUrl(url: string): string[] {
  const [, before, hosts, behind] = /^([^/]*\/\/(?:[^@/]*@)?)([^/?]*)(.*)$/s.exec(url) ?? [
    undefined,
    '',
    url,
    '',
  ]
  return (hosts as string).split(',').map(host => `${before}${host}${behind}`)
}
