import { describe, expect, it } from 'vitest'
import { dateStyle, readTime } from '../../src/sheets/values/dates.ts'

const read = (text: string, language: string) => readTime(text, dateStyle(language, 'UTC'))

describe('A date with words', () => {
  it.each([
    ...['bg', 'cs', 'de', 'en-GB', 'es', 'fi', 'fr', 'he', 'hr', 'it', 'lt', 'nl', 'pl', 'pt', 'ro', 'ru'],
    ...['sk', 'sl', 'sr', 'sv', 'uk', 'vi'],
  ])('is the day that a spreadsheet in %s shows', language => {
    const style = dateStyle(language, 'UTC')
    for (const length of ['medium', 'long', 'full'] as const) {
      const format = new Intl.DateTimeFormat(language, { dateStyle: length, timeZone: 'UTC' })
      for (let month = 0; month < 12; month++) {
        const day = new Date(Date.UTC(2026, month, 1 + 2 * month))
        for (const text of [format.format(day), format.format(day).normalize('NFD')]) {
          expect([text, readTime(text, style)]).toEqual([
            text,
            { local: `${day.toISOString().slice(0, 10)}T00:00:00.000` },
          ])
        }
      }
    }
  })

  it.each([
    ['vi', 'Ngày 4 tháng 3 năm 2026', '2026-03-04'],
    ['vi', 'Chủ Nhật, 04 tháng 3, 2026 09:30', '2026-03-04'],
    ['he', '4 מרץ 2026', '2026-03-04'],
    ['he', "4 בנוב' 2026, 09:30", '2026-11-04'],
    ['lt', '2026 m. kovo 4 d. 09:30', '2026-03-04'],
    ['hr', '4. ožujka 2026.', '2026-03-04'],
  ])('is read as people write it in %s: %s', (language, text, day) => {
    expect(read(text, language)).toMatchObject({ local: expect.stringContaining(`${day}T`) })
  })

  it.each([
    ['vi', '21 tháng 13, 2026'],
    ['vi', '31 tháng 2, 2026'],
    ['he', '21 בבבמבר 2026'],
    ['lt', '2026 m. lapkričio 31 d.'],
    ['lt', '2026 m. 21 d.'],
    ['en', 'one two 21 November 2026'],
    ['en', '- 21 November 2026'],
  ])('is none where there is no such day, in %s: %s', (language, text) => {
    expect(read(text, language)).toBeNull()
  })
})
