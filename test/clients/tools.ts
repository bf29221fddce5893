import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Installation, installed } from '../services/cache.ts'
import { run } from '../services/commands.ts'
import { debianMirror, isDebianRoot, proxyEnvironment, requireExecutable } from '../services/debian.ts'
import { Unavailable } from '../services/services.ts'

const recipes = fileURLToPath(new URL('.', import.meta.url))

/** openapi-generator, for Python, Java and typescript-fetch: its classes, for `java -cp`. */
export async function fetchOpenapiGenerator(): Promise<string> {
  await requireExecutable('java', ['default-jdk-headless'], 'install a JDK')
  await requireExecutable('mvn', ['maven'], 'install Maven')
  // Named after the version in pom.xml.
  const folder = await installed('openapi-generator-7.24.0', async (to: Installation) => {
    const goal = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies'
    const options = ['--batch-mode', '--quiet', '--file', join(recipes, 'pom.xml')]
    await run('mvn', [...options, goal, '-Dmdep.useBaseVersion', `-DoutputDirectory=${to.folder}`], to)
  })
  return join(folder, '*')
}

/**
 * The tools from npm: the generators for TypeScript, their compiler, and the linters. Returns the folder with
 * node_modules.
 */
export async function fetchNpmTools(): Promise<string> {
  // The number belongs to npm/package.json: raise it when that changes.
  return await installed('client-generators-1', async (to: Installation) => {
    copyFileSync(join(recipes, 'npm/package.json'), join(to.folder, 'package.json'))
    const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefix', to.folder]
    await run('npm', ['install', ...options], to)
  })
}

/**
 * Debian 13 with Python and the packages that its generated client imports, to be entered with chroot(8): the pydantic
 * of Debian 12 is too old for it.
 */
export async function fetchPython(): Promise<string> {
  if (!isDebianRoot()) throw new Unavailable('Python is installed by itself only for root on Debian')
  return await installed('python-client-trixie-1', async (to: Installation) => {
    await requireExecutable('debootstrap', ['debootstrap'], 'install debootstrap')
    const packages = ['python3-minimal', 'python3-pydantic', 'python3-urllib3', 'python3-dateutil']
    const options = ['--variant=minbase', `--include=${packages.join(',')}`]
    const env = await proxyEnvironment()
    await run('debootstrap', [...options, 'trixie', to.folder, await debianMirror()], { ...to, env })
  })
}
