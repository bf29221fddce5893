import { createLinkToken } from '../../mail/tokens.ts'

/** Long enough for a holiday, short enough that a forgotten one opens nothing. */
export const INVITATION_LIFETIME_S = 7 * 24 * 3600

export const createInvitationToken = () => createLinkToken('fli')
