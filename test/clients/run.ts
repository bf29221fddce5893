import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from '../services/commands.ts'
import { OWNER, type ServerProcess, startServer } from '../support/server.ts'
import { fetchNpmTools, fetchOpenapiGenerator, fetchPython } from './tools.ts'

// `npm run clients`: generates a client with each generator, compiles a program against it and runs that against a
// server: it signs in, creates a device, sends points and reads pages. Before that the linters check the document.

const PROGRAMS = fileURLToPath(new URL('programs/', import.meta.url))

interface Place {
  /** An empty folder, with the document in it. */
  folder: string
  document: string
  log: string
  env: Record<string, string>
}

interface Check {
  name: string
  run(place: Place): Promise<void>
}

const COMPILER_OPTIONS = {
  target: 'es2022',
  lib: ['es2022', 'dom', 'dom.iterable'],
  module: 'esnext',
  moduleResolution: 'bundler',
  strict: true,
  noEmit: true,
  types: ['node'],
}

async function checks(): Promise<Check[]> {
  const [npm, generator] = await Promise.all([fetchNpmTools(), fetchOpenapiGenerator()])
  const tool = (name: string) => join(npm, 'node_modules/.bin', name)
  const generate = (language: string, { document, log }: Place, output: string) =>
    run(
      'java',
      [
        '-cp',
        generator,
        'org.openapitools.codegen.OpenAPIGenerator',
        'generate',
        '-i',
        document,
        '-g',
        language,
        '-o',
        output,
      ],
      { log },
    )

  /** Compiles a TypeScript program strictly, including the generated files, and runs it. */
  async function runTypeScript(name: string, { folder, log, env }: Place): Promise<void> {
    const program = join(folder, `${name}.ts`)
    const text = readFileSync(join(PROGRAMS, `${name}.ts`), 'utf8')
    writeFileSync(program, text.replace('../../../console/api/interface.d.ts', './generated/schema.js'))
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: COMPILER_OPTIONS, include: ['.'] }),
    )
    // Its imports are searched from its folder upwards.
    symlinkSync(join(npm, 'node_modules'), join(folder, 'node_modules'))
    await run(tool('tsc'), ['--project', folder], { log })
    await run(tool('tsx'), [program], { log, env })
  }

  return [
    {
      name: 'Spectral (spectral:oas)',
      async run({ folder, document, log }) {
        const rules = join(folder, 'spectral.yaml')
        writeFileSync(rules, 'extends: ["spectral:oas"]\n')
        await run(tool('spectral'), ['lint', '--ruleset', rules, '--fail-severity', 'hint', document], {
          log,
        })
      },
    },
    {
      name: 'Redocly (recommended)',
      async run({ folder, document, log }) {
        const rules = join(folder, 'redocly.yaml')
        // The client's specification requires /user/email/{email}; a router prefers a literal segment to a parameter.
        writeFileSync(rules, 'extends:\n  - recommended\nrules:\n  no-ambiguous-paths: off\n')
        const env = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
        const report = join(folder, 'report.json')
        await run(
          'sh',
          [
            '-c',
            `"$0" lint --config "$1" --format json "$2" > "$3"`,
            tool('redocly'),
            rules,
            document,
            report,
          ],
          { log, env },
        )
        const { totals } = JSON.parse(readFileSync(report, 'utf8')) as { totals: { warnings: number } }
        if (totals.warnings > 0) throw new Error(`${totals.warnings} warnings (all of them in ${report})`)
      },
    },
    {
      name: 'openapi-typescript, openapi-fetch',
      async run(place) {
        await run(
          tool('openapi-typescript'),
          [place.document, '-o', join(place.folder, 'generated/schema.d.ts')],
          place,
        )
        await runTypeScript('openapi-typescript', place)
      },
    },
    {
      name: 'hey-api',
      async run(place) {
        const output = join(place.folder, 'generated')
        await run(
          tool('openapi-ts'),
          ['-i', place.document, '-o', output, '-c', '@hey-api/client-fetch'],
          place,
        )
        await runTypeScript('hey-api', place)
      },
    },
    {
      name: 'orval',
      async run(place) {
        const { folder, document, env } = place
        const baseUrl = { getBaseUrlFromSpecification: false, baseUrl: env.FIELDLINE_URL }
        const output = {
          target: join(folder, 'generated/client.ts'),
          schemas: join(folder, 'generated/model'),
          client: 'fetch',
          baseUrl,
        }
        const config = join(folder, 'orval.config.cjs')
        writeFileSync(
          config,
          `module.exports = ${JSON.stringify({ fieldline: { input: document, output } })}\n`,
        )
        await run(tool('orval'), ['--config', config], place)
        await runTypeScript('orval', place)
      },
    },
    {
      name: 'openapi-generator, typescript-fetch',
      async run(place) {
        await generate('typescript-fetch', place, join(place.folder, 'generated'))
        await runTypeScript('typescript-fetch', place)
      },
    },
    {
      name: 'openapi-generator, Java',
      async run(place) {
        const { folder, log, env } = place
        await generate('java', place, folder)
        cpSync(join(PROGRAMS, 'Program.java'), join(folder, 'src/main/java/Program.java'))
        const libraries = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies'
        const options = ['-DincludeScope=runtime', '-DoutputDirectory=target/lib']
        const pom = join(folder, 'pom.xml')
        await run('mvn', ['--batch-mode', '--quiet', '--file', pom, 'compile', libraries, ...options], {
          log,
        })
        await run('java', ['-cp', `${folder}/target/classes:${folder}/target/lib/*`, 'Program'], { log, env })
      },
    },
    {
      name: 'openapi-generator, Python',
      async run(place) {
        const { folder, log, env } = place
        const root = await fetchPython()
        await generate('python', place, folder)
        cpSync(join(PROGRAMS, 'program.py'), join(folder, 'program.py'))
        const inside = `/tmp/${basename(folder)}`
        cpSync(folder, join(root, inside), { recursive: true })
        try {
          const variables = Object.entries(env).map(([key, value]) => `${key}=${value}`)
          const python = ['python3', '-W', 'error', `${inside}/program.py`]
          await run('chroot', [root, 'env', ...variables, `PYTHONPATH=${inside}`, ...python], { log })
        } finally {
          rmSync(join(root, inside), { recursive: true, force: true })
        }
      },
    },
  ]
}

async function main(): Promise<number> {
  const wanted = process.argv.slice(2).join(' ').toLowerCase()
  const folder = mkdtempSync(join(tmpdir(), 'fieldline-clients-'))
  const dataDir = join(folder, 'data')
  const server: ServerProcess = await startServer({
    kind: 'pglite',
    url: undefined,
    dataDir,
    remove: async () => {},
  })
  const rows: { name: string; seconds: number; result: string }[] = []
  try {
    const document = join(folder, 'openapi.json')
    const answer = await fetch(`${server.url}/api/v3/openapi.json`)
    writeFileSync(document, await answer.text())
    const env = {
      FIELDLINE_URL: server.url,
      FIELDLINE_EMAIL: OWNER.email,
      FIELDLINE_PASSWORD: OWNER.password,
    }
    for (const check of await checks()) {
      if (!check.name.toLowerCase().includes(wanted)) continue
      const place = {
        folder: join(folder, `${rows.length}`),
        document,
        log: join(folder, `${rows.length}.log`),
        env,
      }
      mkdirSync(place.folder)
      const startedAt = performance.now()
      const result = await check.run(place).then(
        () => 'passed',
        (error: Error) => error.message,
      )
      rows.push({ name: check.name, seconds: Math.round((performance.now() - startedAt) / 1000), result })
      console.log(`${check.name}: ${result}`)
    }
  } finally {
    await server.stop()
  }
  console.table(rows)
  const isGood = rows.length > 0 && rows.every(({ result }) => result === 'passed')
  if (isGood) rmSync(folder, { recursive: true, force: true })
  return isGood ? 0 : 1
}

process.exitCode = await main()
