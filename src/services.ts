import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import type { Registry } from 'prom-client'
import type { Database } from '../db/client.ts'
import type { ClockWatch } from '../db/clock.ts'
import type { Scheduler } from '../fair/scheduler.ts'
import type { Intake } from '../ingest/connections/intake.ts'
import type { Connections } from '../ingest/connections.ts'
import type { Tokens } from '../ingest/identity/tokens.ts'
import type { Watcher } from '../ingest/identity/watcher.ts'
import type { LastSeen } from '../ingest/last-seen.ts'
import type { IngestMetrics } from '../ingest/metrics.ts'
import type { MqttServer } from '../ingest/mqtt/server.ts'
import type { Profiles } from '../ingest/profiles/profiles.ts'
import type { Traces } from '../ingest/traces.ts'
import type { LiveClients } from '../stream/live/clients.ts'
import type { LivePositions } from '../stream/live/positions.ts'
import type { Log } from '../stream/log.ts'
import type { ChosenBasemap } from './basemap/chosen.ts'
import type { Config } from './config.ts'
import type { Release } from './http/release.ts'

/** The parts that `main.ts` has opened and the routes use. */
export interface Services {
  config: Config
  release: Release
  db: Database
  /** Null in a process that neither accepts, stores nor shows points; the same holds for `live` and `mqtt`. */
  log: Log | null
  tokens: Tokens
  watcher: Watcher
  live: { positions: LivePositions; clients: LiveClients } | null
  mqtt: Pick<MqttServer, 'accept' | 'port'> | null
  profiles: Profiles
  /** Null in a process without the role ingest. */
  intake: Intake | null
  /** Null in a process without the role api. */
  basemap: ChosenBasemap | null
  lastSeen: LastSeen
  traces: Traces
  /** The turns in which large inputs are processed, whichever way they came. */
  scheduler: Scheduler
  /** The connections of all listeners of the process. */
  connections: Connections
  metrics: { registry: Registry; ingest: IngestMetrics }
  /** The dependencies of the process by name, each with a check whether it answers. */
  dependencies: Readonly<Record<string, () => Promise<boolean>>>
  clock: Pick<ClockWatch, 'isRight' | 'offsetMs'>
  /** Whether every listener of the running roles is open. */
  listening: () => boolean
}

export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>
