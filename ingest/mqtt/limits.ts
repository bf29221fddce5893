/**
 * The limits of the MQTT server, each with its answer in docs/mqtt.md. They bound what one connection, device or
 * address can cost; a device that behaves meets none of them.
 */

/** The largest packet, header included. A PUBLISH of 1,000 points is about 150 KiB. */
export const MAX_PACKET_BYTES = 256 * 1024
/** What is no PUBLISH: the largest is a SUBSCRIBE of as many filters as a session may have, of 512 bytes each. */
export const MAX_CONTROL_BYTES = 12 * 1024
/** A CONNECT has an identifier, a key or token, and a will of one point; nobody is known yet who sends it. */
export const MAX_CONNECT_BYTES = 8 * 1024
/** [MQTT-3.1.3-5] asks for 23; OwnTracks and generated ones are longer. */
export const MAX_CLIENT_ID_BYTES = 256
/** Ours are at most 60 bytes and 5 levels; a rejection keeps the topic. */
export const MAX_TOPIC_BYTES = 512
export const MAX_TOPIC_LEVELS = 16

/** From the first byte that may be sent to the end of the CONNECT, the TLS handshake included. */
export const CONNECT_TIMEOUT_MS = 10_000
/** A peer that is gone and has no keepalive is found by TCP itself. */
export const TCP_KEEPALIVE_MS = 60_000

/** Messages and bytes of one connection that may wait for the log; beyond it the socket is not read. */
export const MAX_PENDING = 2_000
export const MAX_PENDING_BYTES = 1024 * 1024
/** Points of one connection that may wait: several messages of 1,000, at 10 µs each to decode and validate. */
export const MAX_PENDING_ENTRIES = 5_000
/** Points of the organizations of one root (db/roots.ts) that may wait: 25 MiB, a fifth of the log's room. */
export const MAX_TENANT_ENTRIES = 100_000
/** Points of one credential that may wait, over all its connections: four full ones, and a fifth of its organization's. */
export const MAX_CREDENTIAL_ENTRIES = 20_000
/** How long one connection's packets are gone through before another's turn, in milliseconds: about 500 points. */
export const TURN_MS = 2
/** How long what a client sent before it closed the socket waits for the log, unless it said goodbye. */
export const LEFT_MS = 10_000
/** Of all clients that have closed the socket and are not yet known: what they sent with their CONNECT. */
export const MAX_LEFT_BYTES = 16 * 1024 * 1024
/** Bytes that wait for a client to read them: the rejections of one message of 1,000 points, and not of two. */
export const MAX_UNREAD_BYTES = 256 * 1024

export const MAX_SUBSCRIPTIONS = 20
/** Messages of QoS 1 that wait for a client's PUBACK or for its return. */
export const MAX_QUEUED = 100
/** The same over all sessions: about 60 MB. */
export const MAX_QUEUED_IN_ALL = 100_000
/** Sessions that are kept for a credential, and in all, while their client is away. */
export const MAX_SESSIONS_AWAY = 10
export const MAX_SESSIONS_AWAY_IN_ALL = 50_000
export const SESSION_AWAY_MS = 7 * 24 * 3600_000
/** Open connections of one credential; the one that was opened first makes room. */
export const MAX_CONNECTIONS_PER_CREDENTIAL = 100

/** Connections of one address that have not yet been answered; those beyond it wait. Never under 500 (contract 1). */
export const MAX_UNANSWERED_PER_ADDRESS = 500
/** Connections that wait to be accepted; those beyond it are closed. */
export const MAX_WAITING = 20_000
