import type { ErrorTexts } from '../errors.ts'

export const errorTexts: ErrorTexts = {
  failures: {
    'invalid-input': 'Something entered here is not valid:',
    'malformed-request': 'The server can’t read this request.',
    unauthorized: 'Your session has ended. Sign in again.',
    'wrong-credentials': 'The e-mail address or the password is wrong.',
    forbidden: ({ permission }) =>
      permission ? `Your role lacks the permission ${permission}.` : 'You may not do this:',
    'no-organization':
      'This account is not active in any organization. Ask an administrator to invite you, or register a new one.',
    'restricted-field': 'Your role can’t see one of these fields.',
    'not-found': 'This does not exist, or was deleted.',
    'wrong-method': 'The server can’t do this.',
    'not-in-time': 'The connection is too slow. Try again.',
    conflict: 'This is not possible now:',
    'not-unique': ({ name }) =>
      name ? `${name} exists already. Choose another name.` : 'This exists already.',
    'in-use': 'Other records still refer to this. Change them first.',
    'reference-deleted': 'A linked record was just deleted. Reload and try again.',
    'too-many-records': ({ limit }) =>
      limit
        ? `The limit of ${limit} is reached. Delete one first.`
        : 'The limit is reached. Delete some first.',
    'too-many-vertices': ({ limit }) =>
      `All polygons together may have ${limit} corners. Draw them with fewer.`,
    'too-large': 'This is too large.',
    'url-too-long': 'The address is too long.',
    'unsupported-media-type': 'The server can’t read this kind of file.',
    'bad-range': 'The server can’t send this part.',
    'expectation-failed': 'The server can’t do this.',
    unimportable: 'This file can’t be imported:',
    'upgrade-required': 'The server can’t do this.',
    'rate-limited': 'Too many requests. Wait a moment.',
    'too-many-attempts': 'Too many failed attempts. Wait before you try again.',
    'headers-too-large': 'The request is too large.',
    internal: 'Something went wrong on the server.',
    unavailable: 'The server is busy. Try again.',
  },
  fields: {
    required: 'This is required.',
    'unknown-field': 'The server does not know this field.',
    'wrong-type': ({ expected }, kinds) => (expected ? `Must be ${kinds[expected]}.` : 'Not valid.'),
    'wrong-format': ({ expected }, kinds) => (expected ? `Must be ${kinds[expected]}.` : 'Not valid:'),
    'not-one-of': ({ choices }) =>
      choices ? `Must be one of ${choices.join(', ')}.` : 'Choose one of the list.',
    'too-long': ({ limit }) => (limit ? `Use at most ${limit} characters.` : 'Too long.'),
    'too-short': ({ limit = 1 }) => (limit > 1 ? `Use at least ${limit} characters.` : 'Must not be empty.'),
    'too-many': ({ limit }) => (limit ? `Use at most ${limit} entries.` : 'Too many.'),
    'too-few': ({ limit = 1 }) => (limit > 1 ? `Use at least ${limit} entries.` : 'Must not be empty.'),
    'too-large': ({ limit, exclusive }) =>
      limit === undefined ? 'Too large.' : `Must be ${exclusive ? 'less than' : 'at most'} ${limit}.`,
    'too-small': ({ limit, exclusive }) =>
      limit === undefined ? 'Too small.' : `Must be ${exclusive ? 'more than' : 'at least'} ${limit}.`,
    'too-early': 'Choose a later time.',
    'too-late': 'Choose an earlier time.',
    'not-multiple': ({ limit }) => `Must be a multiple of ${limit}.`,
    'not-found': 'This does not exist, or was deleted.',
    'not-unique': 'This exists already.',
    'already-done': 'This is done already. Choose one that is not.',
    'restricted-field': 'Your role can’t see this field.',
    blank: 'Must have at least one visible character.',
    'hidden-character': 'Has an invisible character. Type it again.',
    'ambiguous-edge': 'An edge spans half the world, so its direction is ambiguous. Put a corner in between.',
    'crossed-edges': ({ vertices = [] }) =>
      `The polygon crosses itself: the edges from corner ${vertices.join(' and corner ')} meet.`,
    'reversed-edge': ({ vertices = [] }) => `The polygon turns back on itself at corner ${vertices}.`,
    'area-too-small': ({ limit }) => `A polygon needs an area of at least ${limit} m².`,
    'area-too-wide': 'A polygon may not go around the world or a pole.',
    malformed: 'The server can’t read this:',
    invalid: 'Not valid:',
  },
  kinds: {
    text: 'a text',
    number: 'a number',
    integer: 'a whole number',
    boolean: 'true or false',
    list: 'a list',
    object: 'an object',
    time: 'a time',
    null: 'empty',
    email: 'an e-mail address',
    url: 'a web address',
    identifier: 'an identifier',
    datetime: 'a date and time',
    date: 'a date',
    'time-of-day': 'a time of day',
  },
  unknown: 'The server says:',
}
