import { describe, expect, it } from 'vitest'
import { toConfig } from '../../src/config.ts'
import { readSmtpUrl } from '../../src/mail/smtp-url.ts'

const MAIL = {
  SMTP_URL: 'smtps://fleet%40example.com:hid%2Fden@mail.example.com',
  MAIL_FROM: 'Fleet <fleet@example.com>',
  PUBLIC_URL: 'https://fleet.example.com',
}

const refusalOf = (env: Record<string, string>): string => {
  try {
    toConfig(env)
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

describe('The configuration of mail', () => {
  it.each([
    [{ ...MAIL, MAIL_FROM: undefined }, 'To send mail, set MAIL_FROM too'],
    [{ SMTP_URL: MAIL.SMTP_URL }, 'To send mail, set MAIL_FROM and PUBLIC_URL too'],
    [{ MAIL_FROM: MAIL.MAIL_FROM }, 'MAIL_FROM requires SMTP_URL'],
    [{ ...MAIL, MAIL_FROM: 'Fleet' }, 'MAIL_FROM has to be an address such as fleet@example.com'],
    [{ ...MAIL, MAIL_FROM: 'a@example.com, b@example.com' }, 'MAIL_FROM has to be an address'],
    [{ ...MAIL, MAIL_FROM: 'Fleet <a@example.com>\r\nBcc: b@example.com' }, 'MAIL_FROM has to be an address'],
    [{ ...MAIL, PUBLIC_URL: 'fleet.example.com' }, 'PUBLIC_URL has to be an address without a path'],
    [
      { ...MAIL, PUBLIC_URL: 'https://fleet.example.com/app' },
      'PUBLIC_URL has to be an address without a path',
    ],
    [{ ...MAIL, PUBLIC_URL: 'javascript:alert(1)' }, 'PUBLIC_URL has to be an address without a path'],
    [{ ...MAIL, SMTP_URL: 'mail.example.com:25' }, 'SMTP_URL has to start with smtp:// or smtps://'],
    [{ ...MAIL, SMTP_URL: 'smtp://u@h' }, 'SMTP_URL has one of user and password, not both'],
    [{ ...MAIL, SMTP_URL: 'smtp://u:a%zz@h' }, 'SMTP_URL has a % in user or password'],
    [{ ...MAIL, SMTP_URL: 'smtps://h/?starttls=never' }, 'SMTP_URL has starttls, which is for smtp:// alone'],
    [{ ...MAIL, SMTP_URL: 'smtp://h/?starttls=maybe' }, 'SMTP_URL has starttls=maybe; there are require'],
    [{ ...MAIL, SMTP_URL: 'smtp://h/?tls=1' }, 'SMTP_URL has the parameter tls; there are starttls and ca'],
    [
      { ...MAIL, SMTP_URL: 'smtp://h/?ca=/none.pem' },
      'SMTP_URL names /none.pem, which cannot be read (ENOENT)',
    ],
    [{ ...MAIL, SMTP_URL_FILE: '/none' }, 'SMTP_URL and SMTP_URL_FILE are both set'],
    [{ ...MAIL, SMTP_HOST: 'h' }, 'SMTP_HOST is no variable of Fieldline'],
  ])('%o is invalid', (env, message) => {
    expect(() => toConfig(env)).toThrow(message)
  })

  it('says nothing of the password of SMTP_URL, whatever is wrong with it', () => {
    for (const url of [
      'smtp://u:hidden@h:abc',
      'smtp://u:hid/den@h',
      'smtps://u:hidden@h/path',
      'smtp://:hidden@h',
    ])
      expect(refusalOf({ ...MAIL, SMTP_URL: url })).toMatch(/^SMTP_URL (?!.*hidd?)/)
  })

  it('sends mail encrypted unless it is told otherwise, with the names of a sender as people write them', () => {
    expect(readSmtpUrl(MAIL.SMTP_URL)).toMatchObject({
      ...{ host: 'mail.example.com', port: 465, isTls: true },
      auth: { user: 'fleet@example.com', pass: 'hid/den' },
    })
    const of = (url: string) => readSmtpUrl(url)
    expect(of('smtp://mail.example.com')).toMatchObject({ port: 587, isTls: false, startTls: 'require' })
    expect(of('smtp://mail.example.com:25?starttls=never').startTls).toBe('never')
    for (const host of ['localhost', '127.0.0.1', '[::1]'])
      expect(of(`smtp://${host}`).startTls).toBe('if-offered')
    for (const [given, from] of [
      ['fleet@example.com', { name: 'Fieldline', address: 'fleet@example.com' }],
      ['"Söhne, Inc." <flotte@bücher.example>', { name: 'Söhne, Inc.', address: 'flotte@bücher.example' }],
    ] as const)
      expect(toConfig({ ...MAIL, MAIL_FROM: given }).mail?.from).toEqual(from)
    expect(toConfig({ ...MAIL, PUBLIC_URL: 'https://Fleet.example.com:8443/' }).mail?.publicUrl).toBe(
      'https://fleet.example.com:8443',
    )
    expect(toConfig({}).mail).toBeUndefined()
  })
})
