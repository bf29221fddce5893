import { hash, verify } from '@node-rs/argon2'

/** Argon2id with the parameters of OWASP's password storage cheat sheet (19 MiB, 2 passes, 1 lane). */
const OPTIONS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

export const PASSWORD_LENGTH = 10
export const MOST_PASSWORD = 1_000

export function hashPassword(password: string): Promise<string> {
  return hash(password, OPTIONS)
}

// Of a password that nobody has, so that an unknown address takes as long as a wrong password.
let nobody: Promise<string> | undefined

/** Whether the password is the one of the hash. Takes as long without a hash, and is false then. */
export async function verifyPassword(passwordHash: string | undefined, password: string): Promise<boolean> {
  nobody ??= hashPassword('nobody has this password')
  const matches = await verify(passwordHash ?? (await nobody), password)
  return passwordHash !== undefined && matches
}
