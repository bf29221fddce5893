import { describe, expect, it } from 'vitest'
import { proposeMapping } from '../../src/resources/imports/mapping.ts'
import { findOption } from '../../src/sheets/values/options.ts'

describe('Columns are proposed', () => {
  const fields = [
    { key: 'name', label: 'Name' },
    { key: 'street', label: 'Straße' },
    { key: 'phone', label: 'Phone no.' },
    { key: 'mobile', label: 'Phone' },
  ]

  it('by label and key, exactly first, then without case, accents and punctuation', () => {
    expect(proposeMapping(fields, ['NAME', 'strasse', 'Phone', 'PHONE NO', 'Note'])).toEqual({
      name: 'NAME',
      street: 'strasse',
      phone: 'PHONE NO',
      mobile: 'Phone',
    })
  })

  it('and none of another word: marks are letters in Japanese, and in the scripts of India and Thailand', () => {
    const labels = ['ガラス', 'दिन', 'ปี', 'Größe', 'ألف', 'Élan VIP\ufe0f']
    const fields = labels.map((label, at) => ({ key: `key ${at}`, label }))
    expect(proposeMapping(fields, ['カラス', 'दान', 'ปู', 'GROSSE', 'إلف', 'elan-vip'])).toEqual({
      ...{ 'key 3': 'GROSSE', 'key 5': 'elan-vip' },
    })
    expect(proposeMapping(fields, ['カ\u3099ラス', 'ガラス'.normalize('NFD'), 'दिन ', 'ปี'])).toMatchObject({
      ...{ 'key 1': 'दिन ', 'key 2': 'ปี' },
    })
    const options = ['ガラス', 'パン', 'दिन', 'Café']
    const chosen = ['ｶﾞﾗｽ', 'カラス', 'バン', 'दान', 'CAFE'].map(text => findOption(options, text))
    expect(chosen).toEqual(['ガラス', 'カラス', 'バン', 'दान', 'Café'])
  })

  it('and none where two come in question', () => {
    expect(proposeMapping(fields, ['na me', 'NA-ME'])).toEqual({})
  })
})
