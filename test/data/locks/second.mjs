// The first lock with generations (db/drivers/directory-lock.ts and db/durable-files.ts at bf893e9), without types.
import { randomUUID } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname } from 'node:path'
const RENEW_EVERY_MS = 2e3
const STALE_AFTER_MS = 1e4
const PATIENCE_MS = 2e3
export async function lockDirectory(directory) {
  for (const deadline = Date.now() + PATIENCE_MS; ; ) {
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
  mkdirSync(dirname(directory), { recursive: true })
  const self = describeProcess(process.pid)
  const highest = findHighest(directory)
  if (highest?.holder && isAlive(highest.holder, self, highest.ageMs)) {
    throw new InUseError(
      `${directory} is in use by process ${highest.holder.pid} on ${highest.holder.host}. Stop it first, or give this one another DATA_DIR.`
    )
  }
  const number = (highest?.number ?? 0) + 1
  const path = pathOf(directory, number)
  if (!createFile(path, JSON.stringify(self))) throw new InUseError(`${directory} is being taken into use`)
  const isHighest = () => findHighest(directory)?.number === number
  if (!isHighest()) {
    rmSync(path, { force: true })
    throw new InUseError(`${directory} is being taken into use`)
  }
  for (const older of listNumbers(directory)) {
    if (older < number - 1) rmSync(pathOf(directory, older), { force: true })
  }
  let renewedAt = Date.now()
  let held = true
  const renew = () => {
    const now = /* @__PURE__ */ new Date()
    held &&= attempt(isHighest, false)
    if (held) attempt(() => utimesSync(path, now, now), void 0)
    renewedAt = now.getTime()
  }
  const renewal = setInterval(renew, RENEW_EVERY_MS)
  renewal.unref()
  return {
    isHeld() {
      if (Math.abs(Date.now() - renewedAt) > STALE_AFTER_MS / 2) renew()
      return held
    },
    release() {
      clearInterval(renewal)
      if (attempt(isHighest, false)) attempt(() => replaceFile(path, 'null'), void 0)
      held = false
    }
  }
}
const pathOf = (directory, number) => `${directory}.lock.${number}`
function listNumbers(directory) {
  const prefix = `${basename(directory)}.lock.`
  return readdirSync(dirname(directory)).flatMap((name) => {
    const number = name.startsWith(prefix) ? name.slice(prefix.length) : ''
    return /^[1-9]\d{0,14}$/.test(number) ? Number(number) : []
  })
}
function findHighest(directory) {
  for (; ; ) {
    const number = Math.max(0, ...listNumbers(directory))
    if (number === 0) return null
    const path = pathOf(directory, number)
    try {
      const holder = JSON.parse(readFileSync(path, 'utf8'))
      return { number, holder, ageMs: Date.now() - statSync(path).mtimeMs }
    } catch (error) {
      if (error.code !== 'ENOENT') throw error
    }
  }
}
function isAlive(holder, self, ageMs) {
  if (holder.boot !== self.boot || holder.namespace !== self.namespace) return ageMs < STALE_AFTER_MS
  return describeProcess(holder.pid).started === holder.started && holder.started !== ''
}
function describeProcess(pid) {
  return { host: hostname(), boot: readBoot(), namespace: readNamespace(), pid, started: readStart(pid) }
}
function readBoot() {
  return attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(), '')
}
function readNamespace() {
  return attempt(() => readlinkSync('/proc/self/ns/pid'), '')
}
function readStart(pid) {
  const fields = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, ''), '')
  if (fields) return fields.split(' ')[19] ?? ''
  if (process.platform === 'linux') return ''
  return attempt(() => process.kill(pid, 0) ? 'exists' : '', '')
}
function attempt(read, otherwise) {
  try {
    return read()
  } catch {
    return otherwise
  }
}
function createFile(path, text) {
  return withDraft(path, text, (draft) => {
    try {
      linkSync(draft, path)
      return true
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
      return false
    }
  })
}
function syncFolder(path) {
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
function withDraft(path, text, place) {
  const draft = `${path}.${randomUUID()}`
  try {
    const file = openSync(draft, 'wx', 384)
    try {
      writeSync(file, text)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    const result = place(draft)
    syncFolder(dirname(path))
    return result
  } finally {
    rmSync(draft, { force: true })
  }
}
function replaceFile(path, text) {
  withDraft(path, text, (draft) => renameSync(draft, path))
}
