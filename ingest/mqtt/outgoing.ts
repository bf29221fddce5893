import { generate } from 'mqtt-packet'
import { timeOfDay } from '../../db/clock.ts'
import type { Terms } from './terms.ts'

const PUBLISH = { cmd: 'publish', qos: 0, dup: false, retain: false } as const

/** A message to a client. */
interface Outgoing {
  topic: string
  payload: string
  qos?: 0 | 1
  dup?: boolean
  id?: number
  command?: { id: string; expiresAt: Date }
}

/** A PUBLISH as the version of its receiver has it. A command of version 5 says where to answer, and until when. */
export function encodePublish({ command, id, ...message }: Outgoing, terms: Terms | null): Buffer {
  const packet = { ...PUBLISH, ...message, ...(id !== undefined && { messageId: id }) }
  if (!terms) return generate(packet)
  const seconds = command ? Math.max(1, Math.ceil((command.expiresAt.getTime() - timeOfDay()) / 1000)) : 0
  const properties = command && {
    messageExpiryInterval: seconds,
    responseTopic: `${message.topic}/${command.id}`,
    correlationData: Buffer.from(command.id),
  }
  return generate({ ...packet, ...(properties && { properties }) }, { protocolVersion: 5 })
}
