import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { freePort } from './services/commands.ts'
import { isDebianRoot, requireExecutable } from './services/debian.ts'
import { type Client, createClient, signIn } from './support/client.ts'
import { createTestDatabase, type TestDatabase, usualKind } from './support/database.ts'
import { useServer } from './support/own-server.ts'
import { spawnWaiting } from './support/server.ts'
import { until } from './support/wait.ts'

const FOLDER = resolve(import.meta.dirname, '../docs/monitoring')
const TLS = resolve(import.meta.dirname, 'data/tls')
const read = (name: string) => readFileSync(join(FOLDER, name), 'utf8')
/** Only a process with Kafka has these (test/stream/kafka-log.test.ts). */
const OF_KAFKA = /^fieldline_log_(lag_records|unstored_seconds|retention_seconds)$/

const missing = await requireExecutable('promtool', ['prometheus'], 'install prometheus').then(
  () => undefined,
  error => {
    if (isDebianRoot()) throw error
    return String(error.message)
  },
)
const promtool = async (args: string[], input = ''): Promise<string> => {
  const run = promisify(execFile)('promtool', args, { cwd: FOLDER })
  run.child.stdin?.end(input)
  const { stdout, stderr } = await run.catch(error => error)
  return `${stdout}${stderr}`
}

describe('The metrics', () => {
  const { server } = useServer({
    ...{ MQTT_TLS_PORT: '0', METRICS_PORT: '0' },
    ...{ MQTT_TLS_CERT: join(TLS, 'first-cert.pem'), MQTT_TLS_KEY: join(TLS, 'first-key.pem') },
  })
  let owner: Client
  let figures: string

  const readFigures = async () => {
    const [, port] = /"port":(\d+),"msg":"The metrics/.exec(server.output.stderr) ?? []
    return (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  }
  const figureOf = (series: string) =>
    Number(
      figures
        .split('\n')
        .find(line => line.startsWith(`${series} `))
        ?.split(' ')
        .at(-1),
    )

  beforeAll(async () => {
    owner = await signIn(server)
    await owner.get('/hubs')
    await createClient(server, 'forged').get('/hubs')
    await fetch(`${server.url}/nothing/that/exists.json`)
    figures = await readFigures()
  })

  it.skipIf(missing)('follow the conventions of Prometheus', async () => {
    expect(await promtool(['check', 'metrics'], figures)).toBe('')
  })

  it('are on their own port alone where there is one', async () => {
    expect((await fetch(`${server.url}/metrics`)).status).toBe(404)
  })

  it('count requests by route and status', () => {
    const hubs = 'fieldline_http_requests_total{method="GET",route="/api/v3/hubs"'
    expect(figureOf(`${hubs},status="200"}`)).toBe(1)
    expect(figureOf(`${hubs},status="401"}`)).toBe(1)
    expect(figures).not.toContain('exists.json')
    expect(figureOf('fieldline_http_request_duration_seconds_count{status="4xx"}')).toBe(2)
  })

  it('have each limit beside its figure', () => {
    expect(figureOf('fieldline_connections_max')).toBeGreaterThan(figureOf('fieldline_connections'))
    expect(figureOf('fieldline_log_waiting_max_bytes')).toBeGreaterThan(0)
    expect(figureOf('fieldline_data_dir_size_bytes')).toBeGreaterThan(
      figureOf('fieldline_data_dir_free_bytes'),
    )
    if (usualKind() === 'postgres')
      expect(figureOf('fieldline_database_connections_max{lane="requests"}')).toBe(12)
  })

  it('say which release runs, and when the certificate of MQTT ends', () => {
    expect(figures).toMatch(/fieldline_build_info\{version="\d+\.\d+\.\d+",commit="\w+"\} 1/)
    expect(figureOf('fieldline_mqtt_certificate_expiry_timestamp_seconds')).toBeGreaterThan(1_700_000_000)
  })

  it('know of jobs and webhooks', () => {
    expect(figureOf('fieldline_webhooks_failing')).toBe(0)
    expect(figures).toContain('# TYPE fieldline_jobs_oldest_due_seconds gauge')
  })

  it('include all that the alerts and the dashboard ask for', () => {
    const known = new Set([...figures.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name))
    const asked = [read('alerts.yml'), read('grafana/fieldline.json')].flatMap(text =>
      [...text.matchAll(/\b(?:fieldline|process|nodejs)_[a-z_]+/g)].map(([name]) =>
        name.replace(/_bucket$/, ''),
      ),
    )
    expect(asked.length).toBeGreaterThan(30)
    expect([...new Set(asked)].filter(name => !known.has(name) && !OF_KAFKA.test(name))).toEqual([])
  })
})

describe.skipIf(missing)('The alerts', () => {
  it('are quiet when nothing is wrong, and fire when something is', async () => {
    expect(await promtool(['test', 'rules', 'alerts.test.yml'])).toMatch(/SUCCESS/)
    expect(read('alerts.yml').match(/- alert:/g)).toHaveLength(11)
    const described = readFileSync(resolve(FOLDER, '../monitoring.md'), 'utf8')
    for (const [, name] of read('alerts.yml').matchAll(/- alert: (\w+)/g)) expect(described).toContain(name)
  })
})

describe('A server that is starting', () => {
  it('answers /health at once, with version and commit, and is not ready', async () => {
    const database: TestDatabase = await createTestDatabase('pglite')
    const [port, nobody] = [await freePort(), await freePort()]
    const server = spawnWaiting(
      { ...database, url: `postgres://127.0.0.1:${nobody}/fieldline` },
      { PORT: `${port}`, ROLES: 'api' },
    )
    const ask = (path: string) => fetch(`http://127.0.0.1:${port}${path}`).catch(() => null)
    await until('it answers', async () => (await ask('/health')) !== null)
    expect(await (await ask('/health'))?.json()).toMatchObject({
      status: true,
      data: { version: expect.stringMatching(/^\d/), commit: expect.stringMatching(/^\w+$/) },
    })
    expect((await ask('/ready'))?.status).toBe(503)
    const answer = await ask('/api/v3/hubs')
    expect(answer?.headers.get('retry-after')).toBe('2')
    expect(await answer?.json()).toMatchObject({ status: false, code: 'unavailable' })
    await until('it says for what it waits', () =>
      server.output.stderr.includes(`The database (DATABASE_URL, 127.0.0.1:${nobody}) does not answer`),
    )
    expect(server.output.stderr.split('\n')[0]).toMatch(
      /"msg":"Fieldline \d+\.\d+\.\d+ \(\w+\), one machine, roles api"/,
    )
    await server.kill()
    await database.remove()
  })
})
