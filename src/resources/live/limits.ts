/**
 * What one socket, and the sockets of one user, may cost. A client that behaves meets none of it: its person moves the
 * map, and the page subscribes again.
 */

/** Bytes that a socket may leave unread; a frame of 500 positions is 100 KiB. */
export const MAX_UNREAD_BYTES = 1024 * 1024
/** A snapshot may be larger than that, and is on its way for some time: 1 MiB in 10 s is a bad mobile line. */
export const UNREAD_WITHIN_MS = 10_000
/** Of all sockets of a user; beyond it none of them is sent a snapshot. */
export const MAX_UNREAD_BYTES_PER_USER = 8 * 1024 * 1024
/** A socket that has more unread is not sent a snapshot yet. */
export const READY_BELOW_BYTES = 256 * 1024

/** Messages of one socket (pings that are not read are bounded by ws): so many at once, and so many a second. Beyond it, it is closed. */
export const MESSAGES = { atOnce: 1_000, perSecond: 100 }
/** The same for their bytes: 5,000 identifiers are 200 KiB, and take 5 ms to read. */
export const MESSAGE_BYTES = { atOnce: 4 * 1024 * 1024, perSecond: 256 * 1024 }

/** Of the server's time, what the subscriptions of one user may take while others wait. */
export const SUBSCRIBE_SHARE = 0.1
