/**
 * The codes of failures, a closed list for programs and translations (contract section 2). A code keeps its meaning
 * once it is published; a failure that fits no code gets a new one.
 */
export const FAILURES = {
  'invalid-input': { status: 400, means: 'The body or the query is not valid: `errors` has each place' },
  'malformed-request': { status: 400, means: 'This is not a valid HTTP request' },
  unauthorized: {
    status: 401,
    means: 'No token, or one that is expired, revoked or not valid; a wrong pair at sign-in',
  },
  'wrong-credentials': { status: 401, means: 'The e-mail address or the password is wrong' },
  'totp-required': {
    status: 401,
    means: 'The password is right, and the account has a second factor: send `challenge` with a code',
  },
  'wrong-code': { status: 401, means: 'The code is wrong, too old, or was used before' },
  'challenge-ended': {
    status: 401,
    means: 'The sign-in took too long or had too many wrong codes: begin again',
  },
  'single-sign-on-failed': {
    status: 401,
    means: 'Single sign-on took too long, was begun in another browser, or was refused: begin again',
  },
  forbidden: {
    status: 403,
    means: 'The caller may not do this; `permission` names the permission that its role lacks, if it is one',
  },
  'second-factor-required': {
    status: 403,
    means: 'The organization demands a second factor, and the account has none: `POST /auth/totp` sets it up',
  },
  'single-sign-on-required': { status: 403, means: 'Passwords are closed here: use single sign-on' },
  'address-not-verified': {
    status: 403,
    means: 'The provider of single sign-on has not verified the address',
  },
  'other-identity': {
    status: 403,
    means: 'The account belongs to another identity at the provider of single sign-on',
  },
  'no-organization': { status: 403, means: 'The account is not active in any organization' },
  'restricted-field': {
    status: 403,
    means: 'The role restricts a field or a data type that the request names',
  },
  'not-found': { status: 404, means: 'Not there, or of another organization' },
  'wrong-method': { status: 405, means: 'The path answers other methods: `Allow` lists them' },
  'not-in-time': { status: 408, means: 'The request did not arrive in time' },
  conflict: { status: 409, means: 'The state of the record does not allow it' },
  'not-unique': { status: 409, means: 'Another record has this name or value already' },
  'in-use': { status: 409, means: 'Other records refer to this one' },
  'reference-deleted': {
    status: 409,
    means: 'A record that the request refers to was deleted at the same moment',
  },
  'too-many-records': { status: 409, means: 'The organization has as many of these records as it may have' },
  'too-many-vertices': {
    status: 409,
    means: 'The polygons of the organization have as many vertices together as they may have',
  },
  'too-large': { status: 413, means: 'The body or the file is too large' },
  'url-too-long': { status: 414, means: 'The address is too long' },
  'unsupported-media-type': { status: 415, means: 'Not a media type that is accepted here' },
  'bad-range': { status: 416, means: 'The range is not satisfiable' },
  'expectation-failed': { status: 417, means: 'An `Expect` header that is not met here' },
  unimportable: { status: 422, means: 'A file that was read and cannot be imported as it is' },
  'upgrade-required': { status: 426, means: 'A WebSocket is opened here: send an upgrade' },
  'rate-limited': { status: 429, means: 'Too many requests: `Retry-After` says when to send it again' },
  'too-many-attempts': {
    status: 429,
    means: 'Too many failed sign-ins: `Retry-After` says when to try again',
  },
  'headers-too-large': { status: 431, means: 'The headers are too large' },
  internal: { status: 500, means: 'A fault of the service' },
  unavailable: { status: 503, means: 'A dependency is away or busy: send it again after `Retry-After`' },
} as const satisfies { [code: string]: { status: number; means: string } }

/** The code of a failure as a whole. */
export type FailureCode = keyof typeof FAILURES

/** The codes of the entries of `errors`, each about one place of a body or a query. */
export const FIELD_ERRORS = {
  required: 'A value is missing',
  'unknown-field': 'There is no such field or parameter',
  'wrong-type': 'The value is of another type',
  'wrong-format': 'The text is not of the expected form',
  'not-one-of': 'The value is none of the choices',
  'too-long': 'The text has too many characters',
  'too-short': 'The text has too few characters, or none',
  'too-many': 'The list has too many entries',
  'too-few': 'The list has too few entries, or none',
  'too-large': 'The number or the whole value is too large',
  'too-small': 'The number is too small',
  'too-early': 'The time is too early',
  'too-late': 'The time is too late',
  'not-multiple': 'The number is not a multiple of the step',
  'not-found': 'The identifier names no record that the caller may refer to',
  'not-unique': 'The value is there already and has to be unique',
  'already-done': 'The record is done, and only one that is not fits here',
  'restricted-field': 'The role restricts this field',
  blank: 'The text has no character that can be seen',
  'hidden-character':
    'The text has a character that cannot be seen, or one that turns the direction of writing',
  'ambiguous-edge': 'An edge of the polygon spans half the world, so that its direction is not clear',
  'crossed-edges': 'Edges of the polygon cross or touch: `vertices` has where they begin',
  'reversed-edge': 'The polygon turns back on itself at the vertex in `vertices`',
  'area-too-small': 'The area of the polygon is too small: `limit` is in square metres',
  'area-too-wide': 'The polygon goes around the world or a pole',
  malformed: 'The body cannot be read as what its media type says',
  invalid: 'The value is well formed and still wrong: the message says why',
} as const

/** The code of one entry of `errors`. */
export type FieldCode = keyof typeof FIELD_ERRORS

const CODES_BY_STATUS = new Map<number, FailureCode>(
  (Object.keys(FAILURES) as FailureCode[]).toReversed().map(code => [FAILURES[code].status, code]),
)

/** The general code of a status: the first one in the list with that status. */
export function codeOfStatus(status: number): FailureCode {
  return CODES_BY_STATUS.get(status) ?? (status < 500 ? 'malformed-request' : 'internal')
}
