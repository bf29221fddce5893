// The lock of the first releases (db/directory-lock.ts at d517959), without its types: tests run it beside today's.
import {
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync
} from 'node:fs'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
const RENEW_EVERY_MS = 2e3
const STALE_AFTER_MS = 1e4
const PATIENCE_MS = 2e3
export async function lockDirectory(directory) {
  for (let deadline = Date.now() + PATIENCE_MS; ; ) {
    try {
      return tryLock(directory)
    } catch (error) {
      if (!(error instanceof InUseError) || Date.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}
class InUseError extends Error {
}
function tryLock(directory) {
  const path = `${directory}.lock`
  mkdirSync(dirname(path), { recursive: true })
  const self = describeProcess(process.pid)
  const text = JSON.stringify(self)
  for (let attempt2 = 0; ; attempt2++) {
    try {
      writeFileSync(path, text, { flag: 'wx' })
      break
    } catch (error) {
      if (error.code !== 'EEXIST' || attempt2 > 3) throw error
    }
    const held = readLock(path)
    if (held && isAlive(held.holder, self, held.ageMs)) {
      throw new InUseError(
        `${directory} is in use by process ${held.holder.pid} on ${held.holder.host}. Stop it first, or give this one another DATA_DIR.`
      )
    }
    const aside = `${path}.${process.pid}`
    try {
      renameSync(path, aside)
      rmSync(aside, { force: true })
    } catch {
    }
  }
  const renewal = setInterval(() => {
    const now = /* @__PURE__ */ new Date()
    try {
      utimesSync(path, now, now)
    } catch {
    }
  }, RENEW_EVERY_MS)
  renewal.unref()
  return {
    release() {
      clearInterval(renewal)
      if (readLock(path)?.text === text) rmSync(path, { force: true })
    }
  }
}
function readLock(path) {
  try {
    const text = readFileSync(path, 'utf8')
    return { holder: JSON.parse(text), text, ageMs: Date.now() - statSync(path).mtimeMs }
  } catch {
    return void 0
  }
}
function isAlive(holder, self, ageMs) {
  if (holder.boot !== self.boot && holder.host === self.host) return false
  if (holder.boot !== self.boot || holder.namespace !== self.namespace) return ageMs < STALE_AFTER_MS
  return describeProcess(holder.pid).started === holder.started && holder.started !== ''
}
function describeProcess(pid) {
  return { host: hostname(), boot: readBoot(), namespace: readNamespace(), pid, started: readStart(pid) }
}
function readBoot() {
  return attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim())
}
function readNamespace() {
  return attempt(() => readlinkSync('/proc/self/ns/pid'))
}
function readStart(pid) {
  const fields = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, ''))
  if (fields) return fields.split(' ')[19] ?? ''
  if (process.platform === 'linux') return ''
  return attempt(() => process.kill(pid, 0) ? 'exists' : '')
}
function attempt(read) {
  try {
    return read()
  } catch {
    return ''
  }
}
