import pg from 'pg'
import { isAway } from '../errors.ts'
import type { Secret } from '../secret.ts'
import { type Encrypted, mayTakeOther, readEncryption } from './postgres-tls.ts'

/** PostgreSQL's code for a standby (25006): callers try again, as if nobody had answered. */
const READ_ONLY = '25006'

/**
 * The servers in an address, of which one accepts writes: `postgres://user@first:5432,second:5432/name`, as in libpq.
 * The server that accepted writes last is asked first. If it is lost, or reports that it is a standby, the next one is
 * asked. Where `sslmode` allows it, a server that refuses an encrypted connection is asked for an unencrypted one, or the
 * reverse. An address in a file may change at any time.
 */
export interface Hosts {
  readonly count: number
  /** A client of `pg` for the current server. Its `connect` fails if that server accepts no writes. */
  readonly Client: typeof pg.Client
  /** Connects to the server that accepts writes; each is tried once. */
  connect<Client>(attempt: () => Promise<Client>): Promise<Client>
}

interface Host extends Encrypted {
  /** The index of the attempt that counts for now. */
  way: number
}

export function createHosts(address: string | Secret): Hosts {
  const secret = typeof address === 'string' ? { current: address } : address
  let read = secret.current
  let hosts = readHosts(read)
  let turn = 0
  /** Errors after which the other way has its turn. */
  const turned = new WeakSet<Error>()

  function current(): Host {
    const now = secret.current
    if (now !== read) {
      read = now
      try {
        hosts = readHosts(now)
      } catch {
        // A file with another text than an address: the last one stays.
      }
    }
    return hosts[turn % hosts.length] as Host
  }

  class HostClient extends pg.Client {
    readonly #turn: number
    readonly #host: Host
    readonly #way: number

    constructor(config: pg.ClientConfig) {
      const host = current()
      const ssl = host.attempts[host.way]?.() ?? false
      super({ ...config, connectionString: host.url, ssl })
      this.#turn = turn
      this.#host = host
      this.#way = host.way
      // No other listener exists while the server is being asked, and an unhandled error would end the process.
      this.on('error', () => {})
    }

    override connect(): Promise<pg.Client>
    override connect(callback: (error: Error | null) => void): void
    override connect(callback?: (error: Error | null) => void): Promise<pg.Client> | undefined {
      const connected = this.#connect().catch(error => {
        if (this.#host.attempts.length > 1 && mayTakeOther(error)) this.#turnWay(error)
        // Other clients that found the same have moved on already.
        else if (turn === this.#turn) turn++
        throw error
      })
      if (!callback) return connected
      connected.then(() => callback(null), callback)
      return undefined
    }

    #turnWay(error: Error): void {
      turned.add(error)
      if (this.#host.way === this.#way) this.#host.way = (this.#way + 1) % this.#host.attempts.length
    }

    async #connect(): Promise<pg.Client> {
      await super.connect()
      if (hosts.length === 1) return this
      const { rows } = await this.query('SELECT pg_is_in_recovery() AS "isStandby"')
      if (!rows[0].isStandby) return this
      await this.end()
      throw Object.assign(new Error(`The database on ${this.host} is a standby.`), { code: READ_ONLY })
    }
  }

  return {
    get count() {
      return hosts.length
    },
    Client: HostClient as typeof pg.Client,
    async connect(attempt) {
      let [others, ways] = [hosts.length - 1, hosts.length]
      for (;;) {
        try {
          return await attempt()
        } catch (error) {
          if (turned.has(error as Error) ? ways-- === 0 : others-- === 0 || !isAway(error)) throw error
        }
      }
    },
  }
}

const readHosts = (address: string): Host[] =>
  splitUrl(address).map(url => ({ ...readEncryption(url), way: 0 }))

/** Throws an Error with a sentence for an address of one server that `pg` could not use. It shows no part of the user. */
export function checkAddress(url: string): void {
  const [, host = ''] = /^[^/]*\/\/(?:[^@/]*@)?([^/?]*)/.exec(url) ?? []
  const port = /^(?:\[[^\]]*\]|[^:]*):(.+)$/.exec(host)?.[1]
  if (port !== undefined && !(/^\d{1,5}$/.test(port) && Number(port) <= 65_535))
    throw new Error(
      'has a port that is no number up to 65535 (a special character in the password has to be percent-encoded)',
    )
  try {
    new pg.Client({ connectionString: url })
  } catch {
    throw new Error('is no address: a special character in user and password has to be percent-encoded')
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
