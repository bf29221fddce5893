import { v7 as uuid } from 'uuid'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Whether a text is an identifier of ours; a malformed one must not reach a uuid column as an error. */
export function isUuid(text: unknown): text is string {
  return typeof text === 'string' && UUID.test(text)
}

/** A new identifier: UUID version 7, so that identifiers sort by when they were made. */
export function newId(): string {
  return uuid()
}
