// Loaded into a server under test: records, in the file named by RECORD_DISK, every operation on files below DATA_DIR,
// in order, and each answer's head before it is sent (its request's header `x-probe`). A change is recorded before it
// happens, a sync when it is done. test/integrity/power/disk.ts reads the record.

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

/** One write for each record, so that threads do not interleave. */
function note(op, bytes = Buffer.alloc(0)) {
  const head = Buffer.from(`${JSON.stringify({ ...op, bytes: bytes.length })}\n`)
  original.writeSync(log, Buffer.concat([head, bytes]))
}

const isBelow = path => path === root || path.startsWith(root + sep)
/** The path below the root; undefined for files elsewhere. */
const name = path => {
  const full = resolve(String(path))
  return isBelow(full) ? full.slice(root.length + 1) : undefined
}
/** The contents of these files are recorded write by write; the contents of others when they are synced. */
const isDatabase = path =>
  [database, `${database}.draft`].some(folder => String(path).startsWith(folder + sep))

/** The present names of open files. */
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

/** Calls the original after `before` has recorded the operation. */
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
  // Which of several calls succeeds is only known afterwards.
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
  // More checkpoints than the product makes, so that a few seconds contain many; each switches to the next segment of
  // the log. They run between transactions, which are not the server's own.
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
