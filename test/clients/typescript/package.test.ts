import { execFile, execFileSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addApiKey } from '../../support/api-keys.ts'
import { useOrganization } from '../../support/shared-server.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
const PACKAGE = join(ROOT, 'clients/typescript')

/** The package as somebody installs it, in an empty project. */
describe('The package of the TypeScript client', () => {
  const { server, owner } = useOrganization()
  let project: string
  let example: string
  let files: string[]
  beforeAll(() => {
    project = mkdtempSync(join(tmpdir(), 'fieldline-client-'))
    const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', project]
    const [packed] = JSON.parse(execFileSync('npm', pack, { cwd: PACKAGE, encoding: 'utf8' }))
    const { filename } = packed
    files = packed.files.map(({ path }: { path: string }) => path)
    const installed = join(project, 'node_modules/@fieldline/client')
    mkdirSync(installed, { recursive: true })
    execFileSync('tar', ['-xzf', join(project, filename), '-C', installed, '--strip-components=1'])
    const { dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
    const others = [...Object.keys(dependencies), 'openapi-typescript-helpers']
    for (const name of others)
      symlinkSync(join(ROOT, 'node_modules', name), join(project, 'node_modules', name))
    writeFileSync(join(project, 'package.json'), '{"type":"module"}')
    example = /```ts\n([\s\S]*?)```/.exec(readFileSync(join(installed, 'README.md'), 'utf8'))?.[1] ?? ''
    writeFileSync(join(project, 'example.ts'), example)
  })
  afterAll(() => rmSync(project, { recursive: true, force: true }))

  it('holds its code with its types, its README, and nothing else', () => {
    const modules = readdirSync(join(PACKAGE, 'src')).map(name => name.replace(/\.ts$/, ''))
    const built = [...new Set([...modules, 'interface'])].flatMap(name => [
      `dist/${name}.js`,
      `dist/${name}.d.ts`,
    ])
    expect(files.filter(name => !built.includes(name)).sort()).toEqual(['README.md', 'package.json'])
    expect(files).toEqual(expect.arrayContaining(['dist/index.js', 'dist/index.d.ts', 'dist/interface.d.ts']))
  })

  it('compiles the example of its README without anything but itself, and runs it', async () => {
    const options = {
      ...{ module: 'nodenext', target: 'es2022', strict: true, outDir: 'out', rootDir: '.' },
      // Only what the example itself names.
      ...{ types: ['node'], typeRoots: [join(ROOT, 'node_modules/@types')] },
    }
    writeFileSync(
      join(project, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: options, files: ['example.ts'] }),
    )
    const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
    const run = promisify(execFile)
    await run(process.execPath, [compiler, '-p', project], { cwd: project })
    const { key } = await addApiKey(server, owner, { role: 'Admin' })
    const { stdout } = await run(process.execPath, ['out/example.js'], {
      cwd: project,
      env: { FIELDLINE_URL: server.url, FIELDLINE_API_KEY: key },
    })
    expect(stdout).toBe('Van 12\n{ accepted: 1, duplicates: 0, rejected: 0 }\nVan 12 52.52 13.405\n')
  })
})
