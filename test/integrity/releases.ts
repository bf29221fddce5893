import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolder, lock, unlock } from '../services/cache.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const MAX_OUTPUT = 16 * 1024 * 1024
const MAIN = 'dist/server/src/main.js'

/** A built release: of a commit, or of this checkout. */
export interface Release {
  name: string
  main: string
}

export const THIS_RELEASE: Release = { name: 'this release', main: join(ROOT, MAIN) }

/**
 * Builds the server of a commit in a folder outside of the repository, where it stays for the next time. Its packages
 * are those of this checkout if its package-lock.json is the same.
 */
export async function buildRelease(commit: string, log: (line: string) => void): Promise<Release> {
  const { stdout } = await run('git', ['rev-parse', '--verify', `${commit}^{commit}`], ROOT)
  const sha = stdout.trim()
  const parent = join(cacheFolder(), 'releases')
  mkdirSync(parent, { recursive: true })
  const folder = join(parent, sha)
  const done = { name: sha.slice(0, 8), main: join(folder, MAIN) }
  const held = await lock(join(parent, `${sha}.lock`))
  try {
    if (existsSync(done.main)) return done
    log(`building ${done.name} in ${folder}`)
    rmSync(folder, { recursive: true, force: true })
    await run('git', ['worktree', 'prune'], ROOT)
    await run('git', ['worktree', 'add', '--detach', '--force', folder, sha], ROOT)
    try {
      const lockFile = (of: string) => readFileSync(join(of, 'package-lock.json'), 'utf8')
      if (lockFile(folder) === lockFile(ROOT))
        symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
      else await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], folder)
      await run('npm', ['run', '--silent', 'build:server'], folder)
      // The pages are not looked at: they are those of this checkout.
      for (const name of readdirSync(join(ROOT, 'dist')).filter(name => /^(console$|openapi\.)/.test(name)))
        cpSync(join(ROOT, 'dist', name), join(folder, 'dist', name), { recursive: true })
    } catch (error) {
      rmSync(folder, { recursive: true, force: true })
      throw error
    } finally {
      // The built folder stays, and git forgets it.
      rmSync(join(folder, '.git'), { force: true })
      await run('git', ['worktree', 'prune'], ROOT)
    }
    return done
  } finally {
    unlock(held)
  }
}

async function run(command: string, args: string[], cwd: string): Promise<{ stdout: string }> {
  return promisify(execFile)(command, args, { cwd, maxBuffer: MAX_OUTPUT })
}
