import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createBox } from '../src/http/secrets.ts'

const SECRET = 'a secret of thirty-two characters'

describe('A sealed secret', () => {
  it('opens with the same secret, purpose and identifier, and with no other', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.uuid(), fc.uuid(), (text, id, other) => {
        const box = createBox(SECRET, 'one thing')
        const sealed = box.seal(text, id)
        expect(createBox(SECRET, 'one thing').open(sealed, id)).toBe(text)
        expect(createBox(SECRET, 'another').open(sealed, id)).toBeNull()
        expect(createBox(`${SECRET}.`, 'one thing').open(sealed, id)).toBeNull()
        if (other !== id) expect(box.open(sealed, other)).toBeNull()
      }),
      { numRuns: 100 },
    )
  })

  it('opens no more once a byte of it is changed or missing, and says so instead of failing', () => {
    const box = createBox(SECRET, 'one thing')
    const sealed = box.seal('whsec_text', 'id')
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed)
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
      expect(box.open(changed, 'id')).toBeNull()
      expect(box.open(sealed.subarray(0, at), 'id')).toBeNull()
    }
  })

  it('has digests that another secret does not produce', () => {
    const [one, other] = [createBox(SECRET, 'one thing'), createBox(`${SECRET}.`, 'one thing')]
    expect(one.digest('a', 'b')).toEqual(one.digest('a', 'b'))
    for (const digest of [other.digest('a', 'b'), one.digest('ab'), one.digest('a', 'c')]) {
      expect(digest).not.toEqual(one.digest('a', 'b'))
    }
  })
})
