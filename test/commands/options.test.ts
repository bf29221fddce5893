import { describe, expect, test } from 'vitest'
import { readSimulateOptions, readWatchOptions } from '../../src/commands/options.ts'

const ENV = { FIELDLINE_OWNER_PASSWORD: 'correct-horse' }
const read = (text: string, env: Record<string, string> = ENV) =>
  readSimulateOptions(text.split(' ').filter(Boolean), env)

describe('the options of simulate', () => {
  test('need nothing but the password of the environment', () => {
    expect(read('')).toEqual({
      url: 'http://127.0.0.1:3000',
      mqttUrl: 'mqtt://127.0.0.1:1883',
      credential: { email: 'owner@example.com', password: 'correct-horse' },
      devices: 20,
      pointsPerSecond: 1,
      trace: undefined,
      day: false,
      durationS: undefined,
    })
  })

  test('are used as given', () => {
    const text =
      '--url https://a.example/base/ --mqtt mqtts://b.example:8883 --token abc --devices 1000 --rate 0.1 --trace liverpool --day --duration 30'
    expect(read(text)).toEqual({
      url: 'https://a.example/base',
      mqttUrl: 'mqtts://b.example:8883',
      credential: { token: 'abc' },
      devices: 1000,
      pointsPerSecond: 0.1,
      trace: 'liverpool',
      day: true,
      durationS: 30,
    })
  })

  test('look for MQTT on the host of the server, unless it is named', () => {
    expect(read('--url http://fieldline.example:8080')?.mqttUrl).toBe('mqtt://fieldline.example:1883')
    expect(read('--url http://[::1]:3000')?.mqttUrl).toBe('mqtt://[::1]:1883')
  })

  test('prefer the account of the command line to that of the environment', () => {
    const env = { ...ENV, FIELDLINE_OWNER_EMAIL: 'chief@example.com' }
    expect(read('', env)?.credential).toEqual({ email: 'chief@example.com', password: 'correct-horse' })
    expect(read('--email a@b.example --password other-horse', env)?.credential).toEqual({
      email: 'a@b.example',
      password: 'other-horse',
    })
  })

  test('name the organization to sign in to, which a token has already', () => {
    const organizationId = '01a21852-85b5-71b3-9ad5-2555231f9833'
    expect(read(`--organization ${organizationId}`)?.credential).toMatchObject({ organizationId })
    expect(() => read(`--token abc --organization ${organizationId}`)).toThrow(/leave --organization out/)
  })

  test('are nothing where help is asked for, whatever else is missing', () => {
    expect(read('--help', {})).toBeNull()
    expect(read('-h', {})).toBeNull()
  })

  test.each([
    ['--devices 0', '--devices has to be a whole number from 1 to 20000, it is "0".'],
    ['--devices 1.5', '--devices has to be a whole number'],
    ['--devices many', 'it is "many"'],
    ['--rate 0', '--rate has to be a number from 0.001 to 100'],
    ['--rate 1000', '--rate has to be a number from 0.001 to 100'],
    ['--duration=-1', '--duration has to be a number'],
    ['--trace paris', 'There is no trace "paris"; there are capmetro-2015 and liverpool.'],
    ['--trace toString', 'There is no trace "toString"'],
    ['--url localhost:3000', '--url has to be an address that starts with http:// or https://'],
    ['--mqtt http://localhost', '--mqtt has to be an address that starts with mqtt://'],
    ['--fleet 3', "Unknown option '--fleet'"],
    ['20', "Unexpected argument '20'"],
    ['--devices', "Option '--devices <value>' argument missing"],
    ['--token=', '--token is empty'],
  ])('say what is wrong with %s', (text, message) => {
    expect(() => read(text)).toThrow(message)
  })

  test('say where a password comes from', () => {
    expect(() => read('', {})).toThrow('give --password, or set FIELDLINE_OWNER_PASSWORD')
  })
})

test('the options of watch have nothing of a fleet', () => {
  expect(readWatchOptions(['--token', 'abc'], {})).toEqual({
    url: 'http://127.0.0.1:3000',
    credential: { token: 'abc' },
  })
  expect(() => readWatchOptions(['--devices', '3'], ENV)).toThrow("Unknown option '--devices'")
})
