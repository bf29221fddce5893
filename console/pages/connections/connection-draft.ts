import { useRecordDraft } from '../records/record-draft.ts'
import { type Connection, readConnection } from './queries.ts'

export type Kind = Connection['kind']

/** The input of the form. The names of a broker's fields are their paths in the body, where the server reports errors. */
const draftOf = (connection: Connection | null) => {
  const broker = connection?.broker
  return {
    name: connection?.name ?? '',
    kind: connection?.kind ?? ('http' as Kind),
    profileId: connection?.profileId ?? '',
    hubId: connection?.hubId ?? '',
    createDevices: connection?.createDevices ?? false,
    headerName: connection?.headerName ?? '',
    'broker.url': broker?.url ?? '',
    'broker.username': broker?.username ?? '',
    'broker.password': '',
    'broker.clientId': broker?.clientId ?? '',
    'broker.topics': broker?.topics.join(', ') ?? '',
    'broker.caCertificate': broker?.caCertificate ?? '',
    'broker.clientCertificate': broker?.clientCertificate ?? '',
    'broker.clientKey': '',
  }
}

export type ConnectionValues = ReturnType<typeof draftOf>

export const useConnectionDraft = (connection: Connection | null) =>
  useRecordDraft(connection, draftOf, readConnection)

export type ConnectionDraft = ReturnType<typeof useConnectionDraft>

export const splitTopics = (text: string): string[] =>
  text
    .split(/[,\n]/)
    .map(topic => topic.trim())
    .filter(topic => topic !== '')

/** The body of a new connection, with the fields of its kind alone. */
export function bodyOf(values: ConnectionValues) {
  const { kind } = values
  return {
    name: values.name,
    kind,
    profileId: values.profileId,
    hubId: values.hubId || null,
    createDevices: values.createDevices,
    headerName: kind === 'http' ? values.headerName || null : null,
    broker: kind === 'broker' ? brokerOf(values) : null,
  }
}

const brokerOf = (values: ConnectionValues) => ({
  url: values['broker.url'].trim(),
  username: values['broker.username'] || null,
  password: values['broker.password'] || null,
  clientId: values['broker.clientId'] || null,
  topics: splitTopics(values['broker.topics']),
  caCertificate: values['broker.caCertificate'] || null,
  clientCertificate: values['broker.clientCertificate'] || null,
  clientKey: values['broker.clientKey'] || null,
})

/** The changed fields. A secret that is left empty stays as it is. */
export function changesOf(draft: ConnectionDraft) {
  const { values } = draft
  const broker = Object.entries(brokerOf(values)).map(([name, value]) => [`broker.${name}`, value])
  const { kind: _, broker: __, ...plain } = bodyOf(values)
  const changed = Object.entries(draft.changesOf({ ...plain, ...Object.fromEntries(broker) }))
  const ofBroker = changed.filter(([name]) => name.startsWith('broker.'))
  return {
    ...Object.fromEntries(changed.filter(([name]) => !name.startsWith('broker.'))),
    ...(ofBroker.length > 0 && {
      broker: Object.fromEntries(ofBroker.map(([name, value]) => [name.slice('broker.'.length), value])),
    }),
  }
}
