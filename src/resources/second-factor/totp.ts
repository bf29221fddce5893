import { createHash, randomBytes } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import { timeOfDay } from '../../../db/clock.ts'

/** Shown by the app beside the code. */
const ISSUER = 'Fieldline'
/** RFC 4226, 4: at least 128 bits, better 160. */
const SECRET_BYTES = 20
const PERIOD_S = 30
const DIGITS = 6

/** A new secret, in Base32 as people type it into an app. */
export const newFactorSecret = (): string => new Secret({ size: SECRET_BYTES }).base32

const totpOf = (secret: string, label = '') =>
  new TOTP({ issuer: ISSUER, label, secret, algorithm: 'SHA1', digits: DIGITS, period: PERIOD_S })

/** The address that an app reads from a QR code. */
export const uriOf = (secret: string, email: string): string => totpOf(secret, email).toString()

/**
 * The step of 30 seconds since 1970 that a code belongs to, or null if it belongs neither to the present one nor to the
 * one before: a code that is typed as the step ends arrives in the next one (RFC 6238, 5.2).
 */
export function stepOf(secret: string, code: string, atMs = timeOfDay()): number | null {
  const now = Math.floor(atMs / 1_000 / PERIOD_S)
  const delta = totpOf(secret).validate({ token: code, timestamp: now * PERIOD_S * 1_000, window: 1 })
  return delta === 0 || delta === -1 ? now + delta : null
}

const CODE = new RegExp(`^\\d{${DIGITS}}$`)

/** Reads a code as people type or paste it: with spaces, hyphens or capitals. */
const plain = (text: string) => text.replace(/[\s-]/g, '').toLowerCase()

/** A code of an app, or a recovery code. */
export function readCode(text: string): { kind: 'totp' | 'recovery'; code: string } {
  const code = plain(text)
  return { kind: CODE.test(code) ? 'totp' : 'recovery', code }
}

const RECOVERY_CODES = 10
/** No letter or digit that looks like another one: 32 of them are five bits each. */
const LETTERS = 'abcdefghjkmnpqrstuvwxyz023456789'
/** 120 bits: with under 112 a plain digest would not be enough (OWASP ASVS 6.5.2). */
const RECOVERY_LENGTH = 24

/** New recovery codes, in groups of four: `7kq2-m0xa-…`. */
export const newRecoveryCodes = (): string[] =>
  Array.from({ length: RECOVERY_CODES }, () =>
    [...randomBytes(RECOVERY_LENGTH)]
      .map(byte => LETTERS[byte % LETTERS.length])
      .join('')
      .replace(/(.{4})(?=.)/g, '$1-'),
  )

export const digestRecoveryCode = (code: string): Buffer => createHash('sha256').update(plain(code)).digest()
