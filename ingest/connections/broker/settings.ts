import type { Broker } from '../../../db/schema/connections.ts'

/** The secrets of a connection's broker. */
export interface BrokerSecrets {
  password: string | null
  clientKey: string | null
}

/** All that a client of a broker has to know. */
export interface BrokerSettings {
  broker: Broker
  secrets: BrokerSecrets
  clientId: string
  topics: readonly string[]
}
