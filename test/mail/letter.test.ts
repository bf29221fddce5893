import { describe, expect, it } from 'vitest'
import { languageOf, preferredLanguage } from '../../src/mail/languages.ts'
import { messageIdOf, showName, writeLetter } from '../../src/mail/letter.ts'
import type { MailTexts } from '../../src/mail/texts/texts.ts'

const write = (organization: string, language: 'en' | 'de' = 'en') =>
  writeLetter({
    to: 'anna@example.com',
    messageId: '<1@example.com>',
    language,
    link: 'https://fleet.example.com/invitation#fli_abc',
    publicUrl: 'https://fleet.example.com',
    word: (texts: MailTexts) =>
      texts.invitation({ organization: showName(organization), role: 'Planner', inviter: null, days: 7 }),
  })

describe('A mail', () => {
  it('says the same as text and as HTML, with its link in both', () => {
    for (const language of ['en', 'de'] as const) {
      const { text, html } = write('Northwind & Söhne', language)
      expect(text).toContain('Northwind & Söhne')
      expect(html).toContain('Northwind &#38; Söhne')
      expect(html).toContain(`<html lang="${language}">`)
      for (const form of [text, html]) expect(form).toContain('https://fleet.example.com/invitation#fli_abc')
    }
  })

  it('loads nothing when it is opened', () => {
    expect(write('Northwind').html).not.toMatch(/<(img|link|script|iframe|style)\b|url\(|src=/i)
  })

  it('shows names as they are, however they are written', () => {
    const { html, subject, text } = write(`<script>alert("x")</script>'&`)
    expect(html).not.toContain('<script>')
    expect(html).not.toMatch(/<[^>]*alert/)
    expect(subject).not.toMatch(/[\r\n]/)
    expect(text).toContain('<script>')
  })

  it.each([
    ['line ends', 'North\r\nBcc: evil@example.com\r\n\r\nwind'],
    ['other separators', 'North\u2028wind\u0000\u0085and\vmore'],
    ['characters that turn the writing', 'North\u202Edniw'],
  ])('has one line for a name with %s', (_, name) => {
    const shown = showName(name)
    expect(shown).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\u202E]/u)
    expect(write(name).subject.split(/\r|\n/)).toHaveLength(1)
  })

  it('cuts a huge name between characters, and makes no link of one', () => {
    const shown = showName('🚚'.repeat(100_000))
    expect([...shown]).toHaveLength(100)
    expect(shown.isWellFormed()).toBe(true)
    for (const name of ['Pay at https://evil.example/now', 'www.evil.example', 'mail me@evil.example'])
      expect(showName(name)).not.toMatch(/evil\.example|:\/\/|@evil/)
    expect(showName('Dr. Berg & Co.')).toBe('Dr. Berg & Co.')
  })

  it('has a Message-ID at the domain of its sender, in ASCII', () => {
    expect(messageIdOf('7', 'flotte@bücher.example')).toBe('<7@xn--bcher-kva.example>')
  })
})

describe('The language of a mail', () => {
  it.each([
    ['de', 'de'],
    ['de-AT,en;q=0.5', 'de'],
    ['fr, en;q=0.4, de;q=0.6', 'de'],
    ['en-GB, de', 'en'],
    ['de;q=0, en;q=0.1', 'en'],
    ['fr', null],
    ['', null],
    [undefined, null],
    [';;;,,q=', null],
    ['x'.repeat(100_000), null],
  ])('is chosen by Accept-Language %s', (header, language) => {
    expect(preferredLanguage(header)).toBe(language)
  })

  it('is English where an organization has another one, or none', () => {
    expect(['de-CH', 'DE', 'en', 'fr', null, ''].map(languageOf)).toEqual([
      'de',
      'de',
      'en',
      'en',
      'en',
      'en',
    ])
  })
})
