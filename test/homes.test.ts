import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { ROLES, readEnv, toConfig } from '../src/config.ts'
import { isDebianRoot, requireExecutable } from './services/debian.ts'
import { type Manifest, manifest } from './support/kubernetes.ts'

const DEPLOY = resolve(import.meta.dirname, '../docs/deploy')
const folder = mkdtempSync(join(tmpdir(), 'fieldline-homes-'))
afterAll(() => rmSync(folder, { recursive: true }))

type Of<Kind> = Extract<Manifest, { kind: Kind }>

describe('The manifests for Kubernetes', () => {
  const names = readdirSync(join(DEPLOY, 'kubernetes'))
  const documents = names.flatMap(name =>
    parseAllDocuments(readFileSync(join(DEPLOY, 'kubernetes', name), 'utf8')).map(
      one => one.toJS() as unknown,
    ),
  )
  const all = documents.map(one => manifest.parse(one))
  const ofKind = <Kind extends Manifest['kind']>(kind: Kind) =>
    all.filter((one): one is Of<Kind> => one.kind === kind)
  const roleOf = ({ spec }: Of<'Deployment'>) =>
    spec.template.spec.containers[0]?.env.find(({ name }) => name === 'ROLES')?.value as string

  it('have no key that Kubernetes does not know, and nothing twice', () => {
    expect(all.length).toBeGreaterThan(15)
    const ids = all.map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    expect(new Set(ids).size).toBe(ids.length)
    const [first] = documents as [{ spec: object }]
    expect(manifest.safeParse({ ...first, spce: {} }).success).toBe(false)
  })

  it('run at least two pods of each role, with variables that the configuration accepts', () => {
    const deployments = ofKind('Deployment')
    expect(deployments.map(roleOf).sort()).toEqual([...ROLES].sort())
    const [{ data } = { data: {} }] = ofKind('ConfigMap')
    const secrets = Object.entries(data).filter(([name]) => name.endsWith('_FILE'))
    const contents: Record<string, string> = { DATABASE_URL_FILE: 'postgres://me@database/fieldline' }
    const files = secrets.map(([name, path]) => {
      expect(path).toMatch(/^\/run\/secrets\/fieldline\/[a-z-]+$/)
      const file = join(folder, name)
      writeFileSync(file, contents[name] ?? 'x'.repeat(40))
      return [name, file]
    })
    for (const deployment of deployments) {
      expect(deployment.spec.replicas).toBeGreaterThan(1)
      const env = { ...data, ...Object.fromEntries(files), ROLES: roleOf(deployment) }
      const config = toConfig(readEnv({ ...env, DATA_DIR: folder }))
      expect(config).toMatchObject({ kafka: { replication: 3 }, metricsPort: 9464 })
      expect(config.trustedProxies).not.toEqual([])
    }
  })

  it('give each pod its probes, the time to drain, and nothing that it does not need', () => {
    for (const deployment of ofKind('Deployment')) {
      const { containers, terminationGracePeriodSeconds: grace, volumes } = deployment.spec.template.spec
      const [container] = containers
      expect(container?.startupProbe.httpGet).toEqual({ path: '/health', port: 'http' })
      expect(container?.livenessProbe.httpGet).toEqual({ path: '/health', port: 'http' })
      expect(container?.readinessProbe.httpGet).toEqual({ path: '/ready', port: 'http' })
      expect(grace).toBeGreaterThanOrEqual(toConfig({ ROLES: 'jobs', DATA_DIR: folder }).drainSeconds + 15)
      expect(container?.securityContext.capabilities.drop).toEqual(['ALL'])
      const mounts = container?.volumeMounts.map(({ name }) => name)
      expect(mounts).toEqual(volumes.map(({ name }) => name))
      const isShared = volumes.some(volume => 'persistentVolumeClaim' in volume)
      expect(isShared, roleOf(deployment)).toBe(['api', 'jobs'].includes(roleOf(deployment)))
      expect(container?.ports.some(({ name }) => name === 'mqtt')).toBe(roleOf(deployment) === 'ingest')
    }
    expect(ofKind('PersistentVolumeClaim')[0]?.spec.accessModes).toEqual(['ReadWriteMany'])
  })

  it('let one pod of a role go at a time, and send requests to pods that take them', () => {
    const deployments = ofKind('Deployment')
    const podsOf = (labels: object) =>
      deployments.filter(({ spec }) =>
        Object.entries(labels).every(
          ([key, value]) => (spec.template.metadata.labels as Record<string, string>)[key] === value,
        ),
      )
    for (const { spec } of deployments) {
      expect(podsOf(spec.selector.matchLabels)).toHaveLength(1)
      expect(spec.strategy.rollingUpdate).toEqual({ maxSurge: 1, maxUnavailable: 0 })
    }
    const budgets = ofKind('PodDisruptionBudget').map(({ spec }) => podsOf(spec.selector.matchLabels))
    expect(budgets.flat()).toHaveLength(ROLES.length)
    for (const { metadata, spec } of ofKind('Service')) {
      const [deployment, ...others] = podsOf(spec.selector)
      expect(others, metadata.name).toEqual([])
      const ports = deployment?.spec.template.spec.containers[0]?.ports.map(({ name }) => name)
      for (const { targetPort } of spec.ports) expect(ports, metadata.name).toContain(targetPort)
    }
  })

  it('route each path as nginx in the compose file does', () => {
    const compose = parse(readFileSync(resolve(DEPLOY, '../../docker-compose.yml'), 'utf8'), { merge: true })
    const rules = [
      ...compose.configs.nginx.content.matchAll(/location (\S+) \{ proxy_pass http:\/\/(\w+); \}/g),
    ].map(([, path, role]) => [path.replace(/(.)\/$/, '$1'), `fieldline-${role}`])
    const [{ spec } = { spec: { rules: [] } }] = ofKind('Ingress')
    const paths = spec.rules.flatMap(({ http }) =>
      http.paths.map(({ path, backend }) => [path, backend.service.name]),
    )
    expect(rules.length).toBeGreaterThan(4)
    expect(paths.sort()).toEqual(rules.sort())
    const services = ofKind('Service').map(({ metadata }) => metadata.name)
    for (const [, service] of paths) expect(services).toContain(service)
  })
})

const missing = await requireExecutable('systemd-analyze', ['systemd'], 'install systemd').then(
  () => undefined,
  error => {
    if (isDebianRoot()) throw error
    return String(error.message)
  },
)

describe('The unit for systemd', () => {
  const text = readFileSync(join(DEPLOY, 'fieldline.service'), 'utf8')
  /** systemd-analyze looks whether the program is there, and this machine has its own place for Node. */
  const unit = join(folder, 'fieldline.service')
  writeFileSync(unit, text.replace('/usr/bin/node', process.execPath))
  const analyze = async (...words: string[]) => {
    const run = promisify(execFile)('systemd-analyze', [...words, unit])
    const { stdout, stderr, code = 0 } = await run.catch(error => error)
    return { code, output: `${stdout}${stderr}` as string }
  }

  it('has variables that the configuration accepts', () => {
    const lines = [...text.matchAll(/^Environment=(.+)$/gm)].flatMap(([, line]) =>
      (line as string).split(' '),
    )
    const given = Object.fromEntries(lines.map(line => line.split('=') as [string, string]))
    const secret = join(folder, 'jwt-secret')
    writeFileSync(secret, 'x'.repeat(40))
    expect(given).toMatchObject({ DATA_DIR: '/var/lib/fieldline', JWT_SECRET_FILE: '%d/jwt-secret' })
    const config = toConfig(readEnv({ ...given, DATA_DIR: folder, JWT_SECRET_FILE: secret }))
    expect(config.jwtSecret.current).toEqual(['x'.repeat(40)])
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(text)?.[1])).toBeGreaterThanOrEqual(config.drainSeconds + 15)
  })

  it.skipIf(missing)(
    `is what systemd reads without a complaint${missing ? ` (${missing})` : ''}`,
    async () => {
      expect(await analyze('verify')).toEqual({ code: 0, output: '' })
      writeFileSync(unit, text.replace('/usr/bin/node', process.execPath).replace('TasksMax', 'TaskMax'))
      expect((await analyze('verify')).output).toMatch(/TaskMax/)
      writeFileSync(unit, text.replace('/usr/bin/node', process.execPath))
    },
  )

  it.skipIf(missing)('leaves the service little to do harm with, by the measure of systemd', async () => {
    // From 0 to 10; without a word on it a service has 9.6.
    expect((await analyze('security', '--offline=true', '--threshold=15')).code).toBe(0)
  })
})
