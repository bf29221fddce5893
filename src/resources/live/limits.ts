/**
 * Limits the cost of one socket, and of the sockets of one user. A normal client stays below them: its user moves the
 * map, and the page subscribes again.
 */

/** Bytes that a socket may leave unread; a frame of 500 positions is 100 KiB. */
export const MAX_UNREAD_BYTES = 1024 * 1024
/** A snapshot may be larger than that and takes some time: 1 MiB in 10 s is a bad mobile connection. */
export const UNREAD_WITHIN_MS = 10_000
/** The unread bytes of all sockets of a user; above that none of them gets a snapshot. */
export const MAX_UNREAD_BYTES_PER_USER = 8 * 1024 * 1024
/** A socket with more unread bytes gets no snapshot yet. */
export const READY_BELOW_BYTES = 256 * 1024

/** Messages and pings of one socket, at once and in a second; one that sends more is closed. */
export const MESSAGES = { capacity: 1_000, perSecond: 100 }
/** The same limit for bytes: 5,000 identifiers are 200 KiB, and take 5 ms to read. */
export const MESSAGE_BYTES = { capacity: 4 * 1024 * 1024, perSecond: 256 * 1024 }

/** The identifiers in the filters of all open sockets of a root; each takes 90 bytes. */
export const MAX_FILTER_IDS = 300_000

/** The share of the server's time that one user's subscriptions may take while others wait. */
export const SUBSCRIBE_SHARE = 0.1
