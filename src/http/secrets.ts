import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { deriveEach, type Secrets } from '../../db/secret.ts'

/**
 * Encrypts values that must be readable again, with AES-256-GCM and a key derived from the server's secret for one
 * purpose. A sealed value opens under its own identifier alone, so that it cannot be moved to another row.
 */
export interface Box {
  /** A digest that cannot be tested against guesses without the secret. */
  digest(...parts: readonly string[]): Buffer
  seal(text: string, id: string | Buffer): Buffer
  /** Null if it was sealed with another secret or under another identifier, or was changed since. */
  open(sealed: Buffer, id: string | Buffer): string | null
}

/** The boxes of several secrets as one: the first seals, all of them open. */
export interface Ring extends Box {
  /** The digests of the older secrets. */
  olderDigests(...parts: readonly string[]): Buffer[]
  /** Seals anew what was sealed with an older secret; null if there is nothing to do, or it cannot be opened. */
  renew(sealed: Buffer, id: string | Buffer): Buffer | null
}

const IV_BYTES = 12
const TAG_BYTES = 16

export function createBox(secrets: string | Secrets, purpose: string): Ring {
  const boxes = deriveEach(secrets, secret => createBoxOf(secret, purpose))
  const first = () => boxes()[0] as Box
  const openOf = (some: readonly Box[], sealed: Buffer, id: string | Buffer) => {
    for (const box of some) {
      const text = box.open(sealed, id)
      if (text !== null) return text
    }
    return null
  }
  return {
    digest: (...parts) => first().digest(...parts),
    olderDigests: (...parts) =>
      boxes()
        .slice(1)
        .map(box => box.digest(...parts)),
    seal: (text, id) => first().seal(text, id),
    open: (sealed, id) => openOf(boxes(), sealed, id),
    renew(sealed, id) {
      const [newest, ...older] = boxes()
      if (!newest || older.length === 0 || newest.open(sealed, id) !== null) return null
      const text = openOf(older, sealed, id)
      return text === null ? null : newest.seal(text, id)
    },
  }
}

function createBoxOf(secret: string, purpose: string): Box {
  const key = Buffer.from(hkdfSync('sha256', secret, '', `fieldline ${purpose}`, 32))
  return {
    digest: (...parts) => createHmac('sha256', key).update(JSON.stringify(parts)).digest(),
    seal(text, id) {
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(id))
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), sealed])
    },
    open(sealed, id) {
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, IV_BYTES), {
          authTagLength: TAG_BYTES,
        }).setAAD(Buffer.from(id))
        decipher.setAuthTag(sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
        const opened = [decipher.update(sealed.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]
        return Buffer.concat(opened).toString('utf8')
      } catch {
        return null
      }
    },
  }
}
