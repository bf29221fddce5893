import { describe, expect, it } from 'vitest'
import { checkHeadings, proposeMapping, resolveMapping } from '../../src/resources/imports/mapping.ts'
import { fold } from '../../src/sheets/values/fold.ts'
import { findOption } from '../../src/sheets/values/options.ts'

const SCRIPTS =
  'Hiragana Katakana Hangul Devanagari Bengali Gurmukhi Gujarati Tamil Telugu Kannada Malayalam Sinhala Thai Lao Khmer Myanmar Tibetan Arabic Hebrew Syriac Armenian Georgian Ethiopic'

/** The characters of a script that are not another form of others. */
function charactersOf(script: string): { letters: string[]; marks: string[] } {
  const isOfScript = new RegExp(`^\\p{Script_Extensions=${script}}$`, 'u')
  const all = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code))
    .filter(one => isOfScript.test(one) && one.normalize('NFKC') === one)
    // Georgian has capitals as well.
    .filter(one => one.toLowerCase() === one)
  return {
    letters: all.filter(one => /\p{L}/u.test(one)),
    marks: all.filter(one => /\p{M}/u.test(one)),
  }
}

describe('Without case and accents', () => {
  it.each(SCRIPTS.split(' '))('two words are two where each mark is a letter: %s', script => {
    const { letters, marks } = charactersOf(script)
    expect(letters.length).toBeGreaterThan(20)
    // A Korean syllable consists of three letters, so a sample is enough.
    const some = letters.filter((_, at) => at % Math.ceil(letters.length / 200) === 0)
    const words = new Map<string, string>()
    for (const letter of some) {
      for (const mark of ['', ...marks]) {
        const word = `${letter}${mark}`.normalize('NFC')
        const folded = fold(word)
        expect([word, words.get(folded) ?? word]).toEqual([word, word])
        words.set(folded, word)
      }
    }
    expect(words.size).toBeGreaterThanOrEqual(some.length)
  })

  it.each([
    ['ガラス', 'カラス'],
    ['パン', 'バン'],
    ['パン', 'ハン'],
    ['ポスト', 'ホスト'],
    ['दिन', 'दान'],
    ['दिन', 'दीन'],
    ['ปี', 'ปู'],
    ['น้ำ', 'นา'],
    ['мой', 'мои'],
    ['їх', 'іх'],
    ['أن', 'إن'],
    ['آن', 'ان'],
    ['שׁר', 'שׂר'],
  ])('neither an option nor a column is taken for another: %s is no %s', (one, other) => {
    expect(findOption([one], other)).toBe(other)
    expect(proposeMapping([{ key: 'a', label: one }], [other])).toEqual({})
  })

  it.each([
    ['Café', 'CAFE\u0301'],
    ['Größe', 'grosse'],
    ['Ærø', 'AERO'],
    ['Nguyễn', 'nguyen'],
    ['Ελλάδα', 'ΕΛΛΑΔΑ'],
    ['Ещё', 'еще'],
    ['за́мок', 'ЗАМОК'],
    ['İzmir', 'izmir'],
    ['ガラス', 'ｶﾞﾗｽ'],
    ['ガラス', 'カ\u3099ラス'],
    ['ガラス', 'カ゛ラス'],
    ['दिन', ' दिन.'],
    ['한국', '한국'.normalize('NFD')],
    ["l'eau", 'l´eau'],
    ['OK ✔️', 'ok'],
    ['1️⃣', '1'],
    ['葛', '葛\u{e0100}'],
  ])('what differs in nothing else is the same: %s and %s', (one, other) => {
    expect(fold(one)).toBe(fold(other))
    expect(findOption([one], other)).toBe(one)
  })
})

describe('A heading whose letters are written as letter and mark, as files from macOS have them,', () => {
  const decomposed = 'Größe'.normalize('NFD')

  it('is the one that a mapping names', () => {
    for (const named of ['Größe', 'größe', decomposed, ` ${decomposed} `])
      expect(resolveMapping({ size: named }, { row: 1, headings: ['Name', decomposed] })).toEqual({
        size: decomposed,
      })
    // If two keys of JSON are alike, the mapping means the exact one.
    expect(resolveMapping({ size: 'Größe' }, { row: null, headings: [decomposed, 'Größe'] })).toEqual({
      size: 'Größe',
    })
  })

  it('is there twice beside the same in one letter', () => {
    expect(() => checkHeadings(['Größe', decomposed])).toThrow('names these columns twice')
  })
})
