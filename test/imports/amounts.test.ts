import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Field } from '../../db/schema/flows.ts'
import { convert, styleOf } from '../../src/resources/imports/convert.ts'

const FIELD: Field = {
  ...{ key: 'a', label: 'A', type: 'number', required: false, unique: false, options: [], order: 0 },
  dataTypeId: null,
}
const read = (text: string, language = 'en', currency = 'EUR') => {
  const found = convert(FIELD, text, styleOf({ language, timeZone: 'UTC', currency }))
  return 'value' in found ? found.value : found.message
}

describe('A text becomes', () => {
  it.each<[string, string, unknown]>([
    ['de', '1.234,5', 1234.5],
    ['de', '1.234', 1234],
    ['en', '1.234', 1.234],
    ['en', '1,234', 1234],
    ['de', '1,234', 1.234],
    ['en', '1,5', 1.5],
    ['de', '1.5', 1.5],
    ['en', '1,234,567.89', 1234567.89],
    ['de', '1.234.567', 1234567],
    ['fr', '1 234 567,5', 1234567.5],
    ['fr', '1\u202f234,5', 1234.5],
    ['de-CH', "1'234.50", 1234.5],
    ['en', '−7', -7],
    ['en', ' +1e3 ', 1000],
    ['en', '9007199254740992', 2 ** 53],
    ['en', '1e21', 1e21],
    ['en', '-9007199254740993', expect.stringContaining('more digits than a number keeps')],
    ['de', '9.007.199.254.740.993', expect.stringContaining('more digits than a number keeps')],
    ['en', '.5', 0.5],
    ['de', '0.123', 0.123],
    ['en', '1.2.3', 'This has to be a number.'],
    ['en', '12,34,5', 'This has to be a number.'],
    ['en', '1,23.4', 'This has to be a number.'],
    ['en', '1,00,000', 100_000],
    ['hi', '-1,23,456', -123_456],
    ['de', '12,34,567.89', 1234567.89],
    ['en', '1,2,345', 'This has to be a number.'],
    ['en', '123,45,678', 'This has to be a number.'],
    ['de', '1.00.000', 'This has to be a number.'],
    ['de', '1.234,50-', -1234.5],
    ['de', '5-', -5],
    ['de', '5,00- €', -5],
    ['de', '-5-', 'This has to be a number.'],
    ['de', '(5-)', 'This has to be a number.'],
    ['ja', '１２３', 123],
    ['ja', '－１，２３４．５', -1234.5],
    ['ja', '￥', 'This has to be a number.'],
    ['ar', '١٢٣', 123],
    ['ar', '١٬٢٣٤٫٥', 1234.5],
    ['fa', '۱۲۳٬۴۵۶', 123_456],
    ['hi', '१,२३,४५६', 123_456],
    ['th', '๑๒๓', 123],
    ['en', '0x10', 'This has to be a number.'],
    ['en', 'Infinity', 'This has to be a number.'],
    ['de', '1.234,50 €', 1234.5],
    ['de', '1.234,50\u00a0EUR', 1234.5],
    ['en', '€1,234.50', 1234.5],
    ['en', '-€5', -5],
    ['en', '€ -5', -5],
    ['en', '(5)', -5],
    ['de', '( 1.234,50 € )', -1234.5],
    ['de', '(5,5) €', -5.5],
    ['en', '€(5)', -5],
    ['en', '€ (1,234.50)', -1234.5],
    ['de', 'EUR(1.234,5)', -1234.5],
    ['en', '\u200e€(5)', -5],
    ['en', '(€5)', -5],
    ['en', '€5-', -5],
    ['en', '€(5) €', 'This has to be a number.'],
    ['en', '-€(5)', 'This has to be a number.'],
    ['en', '€(-5)', 'This has to be a number.'],
    ['en', '1 (5)', 'This has to be a number.'],
    ['en', 'No. (5)', 'This has to be a number.'],
    ['en', '$(5)', expect.stringContaining('another currency')],
    ['en', '(-5)', 'This has to be a number.'],
    ['en', '(5', 'This has to be a number.'],
    ['en', '5)', 'This has to be a number.'],
    ['en', '--5', 'This has to be a number.'],
    ['en', '€ 5 €', 'This has to be a number.'],
    ['en', '5 kg', 'This has to be a number.'],
    ['de-CH', '5.-', 5],
    ['de', '1.234,- €', 1234],
    ['de', '5,–', 5],
    ['en', '5 euros', 5],
    ['en', 'EUR.5', 'This has to be a number.'],
    ['en', '1.5.', 'This has to be a number.'],
    ['en', '\u200e5', 5],
    ['en', '\u202a-5 €\u202c', -5],
    ['en', '5-7', 'This has to be a number.'],
    ['en', '$5', expect.stringContaining('another currency than EUR')],
    ['en', '5 usd', expect.stringContaining('another currency than EUR')],
    ['en', '12 %', expect.stringContaining('12 or as 0.12')],
    ['en', '12%', expect.stringContaining('12 or as 0.12')],
  ])('a number as it is written in %s: %s', (language, text, expected) => {
    expect(read(text, language)).toEqual(expected)
  })

  it('a number with the currency of the organization, however a language writes it', () => {
    for (const currency of ['EUR', 'USD', 'CHF', 'PLN', 'SEK', 'JPY', 'GBP']) {
      for (const language of ['en', 'de', 'fr', 'pl', 'sv', 'ja']) {
        for (const [currencySign, value] of [
          ['standard', 1234.5],
          ['standard', -7],
          ['accounting', -1234],
        ] as const) {
          const options = { style: 'currency', currency, currencySign, minimumFractionDigits: 2 } as const
          const text = new Intl.NumberFormat(language, options).format(value)
          const style = styleOf({ language, timeZone: 'UTC', currency })
          expect([text, convert(FIELD, text, style)]).toEqual([text, { value }])
        }
      }
    }
  })

  it.each<[string, string, string, unknown]>([
    ['da', 'DKK', '1.234,50 kr.', 1234.5],
    ['da', 'DKK', 'kr. 5', 5],
    ['da', 'DKK', 'kr.5', 5],
    ['da', 'DKK', '(5 kr.)', -5],
    ['nb', 'NOK', '5 kr', 5],
    ['nb', 'NOK', '5 kr.', 5],
    ['de-CH', 'CHF', 'Fr. 5', 5],
    ['de-CH', 'CHF', "Fr. 1'234.50", 1234.5],
    ['de-CH', 'CHF', 'CHF 5.–', 5],
    ['de-CH', 'CHF', "1'234.--", 1234],
    ['bg', 'BGN', '5 лв.', 5],
    ['ja', 'JPY', '1,234円', 1234],
    ['ja', 'JPY', '￥5', 5],
    ['en', 'INR', 'Rs.5', 5],
    ['tr', 'TRY', '1.234,5 TL', 1234.5],
    ['de', 'CHF', '5 Fr. 5', 'This has to be a number.'],
  ])(
    'a number with the currency as %s writes it beside lists of signs: %s %s',
    (language, currency, text, expected) => {
      expect(read(text, language, currency)).toEqual(expected)
    },
  )

  it('no number where brackets, lines or other blanks are within it', () => {
    const texts = [
      '(1) 500',
      '(5)5',
      '(030) 123',
      '(0)30 123 456',
      '()5',
      '(5))',
      '((5))',
      '5(',
      ')5(',
      '-(5)',
    ]
    for (const text of texts) expect([text, read(text)]).toEqual([text, 'This has to be a number.'])
    // Any blank groups digits only if people write numbers with it.
    for (let code = 0; code <= 0xffff; code++) {
      const blank = String.fromCharCode(code)
      if (!/\s/.test(blank)) continue
      const groups = ' \u00a0\u2007\u2009\u202f'.includes(blank)
      const expected = groups || code === 0xfeff ? 100_200 : 'This has to be a number.'
      expect([code, read(`100${blank}200`)]).toEqual([code, expected])
      if (code !== 0xfeff) expect(read(`100${blank} 200`)).toBe('This has to be a number.')
    }
    for (const text of ['1234 567', '12 34', '1 234 5678', "1 234'567"])
      expect([text, read(text)]).toEqual([text, 'This has to be a number.'])
  })

  it('a number, whatever number it is and however it is grouped', () => {
    fc.assert(
      fc.property(
        fc
          .double({ noNaN: true, noDefaultInfinity: true, min: -1e15, max: 1e15 })
          .map(value => Number(value.toFixed(2))),
        fc.constantFrom(
          ...[
            'en',
            'de',
            'fr',
            'pl',
            'de-CH',
            'es',
            'en-IN',
            'hi',
            'ar-EG',
            'fa',
            'bn',
            'mr-u-nu-deva',
            'ja-u-nu-fullwide',
          ],
        ),
        (value, language) => {
          const text = new Intl.NumberFormat(language, {
            maximumFractionDigits: 2,
            minimumFractionDigits: 2,
          }).format(value)
          expect([text, Math.abs((read(text, language) as number) - value)]).toEqual([
            text,
            expect.closeTo(0, 2),
          ])
        },
      ),
    )
  })
})
