import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder, lock, unlock } from './cache.ts'
import { findExecutable, lastLines, outputOf, run } from './commands.ts'
import { Unavailable } from './services.ts'

/** Only Debian itself, no derivatives: their mirrors do not have Debian's releases. */
export function isDebianRoot(): boolean {
  if (process.getuid?.() !== 0 || !existsSync('/etc/os-release')) return false
  return /^ID=debian$/m.test(readFileSync('/etc/os-release', 'utf8'))
}

// Debian starts a server when it installs one, unless this script forbids it (invoke-rc.d(8)). Our script is recognized
// by its text, so that the next run removes one that a killed run left behind.
const policyFile = '/usr/sbin/policy-rc.d'
const policy =
  "#!/bin/sh\n# The installation of Fieldline's test services is running: start nothing.\nexit 101\n"

/** Installs packages of the machine's own release without starting their services. */
export async function installPackages(packages: string[]): Promise<void> {
  const log = join(cacheFolder(), 'apt.log')
  const inherit = await lock(join(cacheFolder(), 'apt.lock'))
  if (!existsSync(policyFile)) writeFileSync(policyFile, policy, { mode: 0o755 })
  try {
    const apt = (...args: string[]) =>
      run('apt-get', ['--yes', '--option', 'DPkg::Lock::Timeout=300', ...args], {
        log,
        inherit,
        env: { DEBIAN_FRONTEND: 'noninteractive' },
      })
    const install = () => apt('install', '--no-install-recommends', ...packages)
    // Old or absent package lists are the usual reason for a failure, and fresh ones cost a second.
    await install().catch(() => apt('update').then(install))
  } catch {
    throw new Unavailable(`apt-get cannot install ${packages.join(', ')}: ${lastLines(log, 2)}`)
  } finally {
    if (readFileSync(policyFile, 'utf8') === policy) rmSync(policyFile)
    unlock(inherit)
  }
}

/** Ensures that an executable from `packages` is installed; `instead` is the hint for other systems. */
export async function requireExecutable(name: string, packages: string[], instead: string): Promise<void> {
  if (findExecutable(name)) return
  if (!isDebianRoot()) throw new Unavailable(`${name} is not installed: ${instead}`)
  await installPackages(packages)
}

/** The mirror that apt uses for Debian's main archive. Names no host here: it is the machine's own choice. */
export async function debianMirror(): Promise<string> {
  const targets = await outputOf('apt-get', [
    'indextargets',
    '--format',
    '$(REPO_URI) $(COMPONENT)',
    'Created-By: Packages',
  ])
  const mirrors = targets.split('\n').map(line => line.split(' '))
  const main = mirrors.find(([uri, component]) => component === 'main' && !uri?.includes('security'))
  if (!main?.[0]) throw new Unavailable('apt knows no mirror of Debian: see /etc/apt/sources.list.d')
  return main[0]
}

/** The proxy that apt is configured to use, as wget's environment: debootstrap does not read apt's configuration. */
export async function proxyEnvironment(): Promise<Record<string, string>> {
  const lines = await outputOf('apt-config', [
    'shell',
    'http_proxy',
    'Acquire::http::Proxy',
    'https_proxy',
    'Acquire::https::Proxy',
  ])
  const assignments = [...lines.matchAll(/^(\w+)='(.*)'$/gm)]
  return Object.fromEntries(assignments.map(([, name = '', value = '']) => [name, value]))
}
