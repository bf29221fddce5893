/**
 * The limits of the MQTT server; docs/mqtt.md describes the answer to each. They bound the cost of one connection,
 * device or address. A well-behaved device reaches none of them.
 */

/** The largest packet, header included. A PUBLISH of 1,000 points is about 150 KiB. */
export const MAX_PACKET_BYTES = 256 * 1024
/** The largest packet except PUBLISH: a SUBSCRIBE with the maximum number of filters, of 512 bytes each. */
export const MAX_CONTROL_BYTES = 12 * 1024
/** A CONNECT holds an identifier, a key or token, and a will of one point; its sender is not authenticated yet. */
export const MAX_CONNECT_BYTES = 8 * 1024
/** [MQTT-3.1.3-5] requires 23; identifiers of OwnTracks and generated ones are longer. */
export const MAX_CLIENT_ID_BYTES = 256
/** Fieldline's topics have at most 60 bytes and 5 levels; a rejection stores the topic. */
export const MAX_TOPIC_BYTES = 512
export const MAX_TOPIC_LEVELS = 16

/** The properties of one packet of version 5. Checking the 1,638 smallest that fit takes 0.7 ms. */
export const MAX_PROPERTIES_BYTES = 8 * 1024
/** Topics of one connection that version 5 replaces by a number. A device publishes to a few. */
export const MAX_TOPIC_ALIASES = 16
/** Messages of QoS 1 and 2 that a client of version 5 may have in flight: half of the messages that may wait. */
export const RECEIVE_MAXIMUM = 1_000
/** The least that a client of version 5 takes in one packet: a CONNACK with an identifier has 70 bytes. */
export const MIN_CLIENT_PACKET_BYTES = 100
/** A PUBACK or PUBREC with the rejections of its message: those of about 200 points. */
export const MAX_ACKNOWLEDGEMENT_BYTES = 8 * 1024
/** Wills that wait for the delay that their clients asked for, over all sessions; further ones do not wait. */
export const MAX_WILL_BYTES_IN_ALL = 16 * 1024 * 1024

/** From the first possible byte to the end of the CONNECT, including the TLS handshake. */
export const CONNECT_TIMEOUT_MS = 10_000
/** The head of a request for a WebSocket on the TLS port, as on the HTTP port. */
export const MAX_REQUEST_HEAD_BYTES = 16 * 1024
/** TCP keepalive finds a vanished peer that has no MQTT keepalive. */
export const TCP_KEEPALIVE_MS = 60_000

/** Messages and bytes of one connection that may wait for the log; above that the socket is not read. */
export const MAX_PENDING = 2_000
export const MAX_PENDING_BYTES = 1024 * 1024
/** Points of one connection that may wait: several messages of 1,000, at 10 µs each to decode and validate. */
export const MAX_PENDING_ENTRIES = 5_000
/** Points of the organizations of one root (fair/roots.ts) that may wait: 25 MiB, a fifth of the log's room. */
export const MAX_TENANT_ENTRIES = 100_000
/** Points of one credential that may wait, over all its connections: four full ones, and a fifth of its organization's. */
export const MAX_CREDENTIAL_ENTRIES = 20_000
/** How long the packets of one connection are handled before another's turn, in milliseconds: about 500 points. */
export const TURN_MS = 2
/** How long messages of a client that closed the socket without DISCONNECT wait for the log. */
export const LEFT_MS = 10_000
/** Bytes sent with a CONNECT by clients that have closed the socket and are not authenticated yet, over all clients. */
export const MAX_LEFT_BYTES = 16 * 1024 * 1024
/** Bytes behind headers of the PROXY protocol that wait for the turn of their connection, over all connections. */
export const MAX_AHEAD_BYTES = 16 * 1024 * 1024
/** Bytes that wait for a client to read them: enough for the rejections of one message of 1,000 points, but not of two. */
export const MAX_UNREAD_BYTES = 256 * 1024

export const MAX_SUBSCRIPTIONS = 20
/** Commands on their way to a device, of at most 9 KiB each: two thirds of what a client may leave unread. */
export const MAX_CARRIED_COMMANDS = 16
/** The payload of an answer to a command. */
export const MAX_ANSWER_BYTES = 8 * 1024
/** The points that an answer to a command counts as while it waits: 50 answers of one connection, 200 of one credential. */
export const ENTRIES_OF_ANSWER = 100
/** Messages of QoS 1 to one client that wait for its PUBACK, or for its next connection. */
export const MAX_QUEUED = 100
/** The same over all sessions: about 60 MB. */
export const MAX_QUEUED_IN_ALL = 100_000
/** Sessions kept while their client is away, for one credential and in total. */
export const MAX_SESSIONS_AWAY = 10
export const MAX_SESSIONS_AWAY_IN_ALL = 50_000
export const SESSION_AWAY_MS = 7 * 24 * 3600_000
/** Open connections of one credential; a further one closes the oldest. */
export const MAX_CONNECTIONS_PER_CREDENTIAL = 100

/** Unanswered connections of one address; further ones wait. Never under 500 (contract 1). */
export const MAX_UNANSWERED_PER_ADDRESS = 500
/** Connections that wait to be accepted; further ones are closed. */
export const MAX_WAITING = 20_000
