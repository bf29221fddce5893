// Loaded into a server under test: writes down, in the file that RECORD_DISK names, everything that it does to files below
// DATA_DIR, in order, and each answer's head before it leaves (its request's header `x-probe`). What changes something is
// noted before it happens, a sync when it is done. test/integrity/power/disk.ts reads it.

import fs from 'node:fs'
import { ServerResponse } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, join, resolve, sep } from 'node:path'
import { isMainThread, parentPort, workerData } from 'node:worker_threads'

const { RECORD_DISK, DATA_DIR } = process.env
const root = resolve(DATA_DIR)
const database = join(root, 'postgres')
const original = { ...fs, promises: { ...fs.promises } }
const log = original.openSync(RECORD_DISK, 'a')

/** One write each, so that threads do not interleave. */
function note(op, bytes = Buffer.alloc(0)) {
  const head = Buffer.from(`${JSON.stringify({ ...op, bytes: bytes.length })}\n`)
  original.writeSync(log, Buffer.concat([head, bytes]))
}

const isBelow = path => path === root || path.startsWith(root + sep)
/** What it is called below the root; undefined for what is elsewhere. */
const name = path => {
  const full = resolve(String(path))
  return isBelow(full) ? full.slice(root.length + 1) : undefined
}
/** The contents of these are followed write by write; of others what they are when they are synced. */
const isDatabase = path =>
  [database, `${database}.draft`].some(folder => String(path).startsWith(folder + sep))

/** Names of open files, as they are called now. */
const open = new Map()

function noteOpening(path, flags) {
  const called = name(path)
  if (called === undefined) return
  const creates = typeof flags === 'number' ? flags & fs.constants.O_CREAT : /[wa]/.test(flags)
  if (creates && !original.existsSync(path)) note({ op: 'create', path: called })
}

function noteSync(path) {
  const called = name(path)
  if (called === undefined) return
  if (original.statSync(path).isDirectory()) note({ op: 'sync folder', path: called })
  else if (isDatabase(path)) note({ op: 'sync', path: called })
  else note({ op: 'sync whole', path: called }, original.readFileSync(path))
}

function noteRemoval(path) {
  const called = name(path)
  const found = called !== undefined && original.lstatSync(path, { throwIfNoEntry: false })
  if (!found) return
  if (found.isDirectory()) {
    for (const entry of original.readdirSync(path)) noteRemoval(join(path, entry))
  }
  note({ op: 'remove', path: called })
}

function noteFolder(path) {
  if (original.existsSync(path) || name(path) === undefined) return
  noteFolder(dirname(resolve(path)))
  note({ op: 'folder', path: name(path) })
}

function noteRename(from, to) {
  if (name(from) === undefined) return
  note({ op: 'rename', path: name(from), to: name(to) })
  for (const [fd, path] of open) if (path === resolve(from)) open.set(fd, resolve(to))
}

/** Calls the original after `before` has noted what is about to happen. */
function after(owner, method, before) {
  const work =
    original.promises[method] && owner === fs.promises ? original.promises[method] : original[method]
  owner[method] = (...given) => {
    before(...given)
    return work(...given)
  }
}

fs.openSync = (path, flags = 'r', mode) => {
  noteOpening(path, flags)
  const fd = original.openSync(path, flags, mode)
  if (name(path) !== undefined) open.set(fd, resolve(String(path)))
  return fd
}
fs.closeSync = fd => {
  open.delete(fd)
  original.closeSync(fd)
}
fs.writeSync = (fd, data, offset, length, position) => {
  const path = open.get(fd)
  if (path !== undefined && isDatabase(path)) {
    if (typeof position !== 'number') throw new Error(`A write to ${path} without a place`)
    const bytes = Buffer.from(data.buffer, data.byteOffset + offset, length)
    const isZero = bytes[0] === 0 && bytes.equals(Buffer.alloc(length))
    note({ op: 'write', path: name(path), at: position, length, isZero }, isZero ? undefined : bytes)
  }
  return original.writeSync(fd, data, offset, length, position)
}
for (const method of ['fsyncSync', 'fdatasyncSync']) {
  fs[method] = fd => {
    original[method](fd)
    if (open.has(fd)) noteSync(open.get(fd))
  }
}
after(fs, 'writeFileSync', (path, _data, options) => noteOpening(path, options?.flag ?? 'w'))
after(fs, 'truncateSync', (path, size) => {
  if (name(path) !== undefined) note({ op: 'truncate', path: name(path), size })
})
after(fs, 'createWriteStream', path => noteOpening(path, 'w'))
after(fs, 'linkSync', (path, to) => {
  // Which of several has it is known when it has happened.
  if (name(path) !== undefined && !original.existsSync(to))
    note({ op: 'link', path: name(path), to: name(to) })
})
for (const [owner, suffix] of [
  [fs, 'Sync'],
  [fs.promises, ''],
]) {
  after(owner, `mkdir${suffix}`, noteFolder)
  after(owner, `rename${suffix}`, noteRename)
  for (const method of ['rm', 'unlink', 'rmdir']) after(owner, method + suffix, noteRemoval)
}
fs.promises.open = async (path, flags = 'r', mode) => {
  noteOpening(path, flags)
  const file = await original.promises.open(path, flags, mode)
  const sync = file.sync.bind(file)
  file.sync = async () => {
    await sync()
    noteSync(path)
  }
  return file
}
syncBuiltinESMExports()

const { writeHead } = ServerResponse.prototype
ServerResponse.prototype.writeHead = function (...given) {
  const probe = this.req?.headers['x-probe']
  if (probe !== undefined) note({ op: 'answer', probe: Number(probe) })
  return writeHead.apply(this, given)
}

if (!isMainThread && workerData?.directory === database && process.env.CHECKPOINT_EVERY_MS) {
  // More often than the product does, so that seconds hold many; and on to the next segment of the log. Between
  // transactions, which are not theirs.
  let last = Date.now()
  let count = 0
  let isOpen = false
  const on = parentPort.on.bind(parentPort)
  parentPort.on = (event, answer) =>
    on(event, request => {
      answer(request)
      if (request.kind === 'exec') isOpen = request.text.startsWith('BEGIN')
      if (isOpen || Date.now() - last < Number(process.env.CHECKPOINT_EVERY_MS)) return
      last = Date.now()
      if (count++ % 4 === 0) answer({ id: -1, kind: 'exec', text: 'SELECT pg_switch_wal()' })
      answer({ id: -1, kind: 'exec', text: 'CHECKPOINT' })
    })
}
