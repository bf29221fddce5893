import { RequestError } from '../../http/errors.ts'

const RETRY_AFTER_S = 10

export const notSetUp = () => new RequestError('not-found', 'Single sign-on is not set up here.')

export const providerAway = () =>
  new RequestError(
    'unavailable',
    'The provider of single sign-on does not answer. Try again soon, or sign in with your password.',
    {},
    RETRY_AFTER_S,
  )

export const signOnFailed = () =>
  new RequestError(
    'single-sign-on-failed',
    'Single sign-on took too long, was begun in another browser, or was refused. Begin again.',
  )

export const notVerified = () =>
  new RequestError(
    'address-not-verified',
    'The provider has not verified your e-mail address. Verify it there, then begin again.',
  )

export const otherIdentity = () =>
  new RequestError(
    'other-identity',
    'The account of this address belongs to another identity at the provider. Ask an administrator.',
  )

export const notInvited = () =>
  new RequestError(
    'no-organization',
    'Your address has no account here that is active in an organization. Ask an administrator to invite you.',
  )
