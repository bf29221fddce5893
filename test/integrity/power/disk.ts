import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/**
 * A disk that forgets, after the model of ALICE
 * (https://www.usenix.org/conference/osdi14/technical-sessions/presentation/pillai) and CrashMonkey. From the
 * operations of a process on its files, in order (test/support/record-disk.mjs), it derives what the disk may hold
 * after a power cut. Synced changes are there. Unsynced changes may survive or not: in a file each sector of 512
 * bytes on its own, in a folder each name on its own. So a file may be there without a name, or under an old one.
 */
export interface Op {
  op:
    | 'create'
    | 'folder'
    | 'write'
    | 'truncate'
    | 'sync'
    | 'sync whole'
    | 'sync folder'
    | 'rename'
    | 'link'
    | 'remove'
    | 'answer'
  path: string
  to: string
  at: number
  length: number
  isZero: boolean
  size: number
  probe: number
  data: Buffer
  /** The position of its data in the record. */
  offset: number
}

const SECTOR = 512

/** Reads a record. An entry that its process was writing when it was killed is left out. */
export function readRecord(path: string): Op[] {
  const record = readFileSync(path)
  const ops: Op[] = []
  for (let at = 0; ; ) {
    const end = record.indexOf(10, at)
    if (end < 0) return ops
    const { bytes, ...op } = JSON.parse(record.toString('utf8', at, end))
    const next = end + 1 + bytes
    if (next > record.length) return ops
    ops.push({ ...op, data: record.subarray(end + 1, next), offset: at })
    at = next
  }
}

/** Decides for each sector and each name whether an unsynced change survives. */
export interface Survival {
  sector(path: string, order: number): boolean
  /** Gives the same answer for the same change each time. */
  name(order: number): boolean
}

type Change = { order: number; at: number; data: Buffer; length: number } | { order: number; size: number }

interface File {
  kind: 'file'
  /** The content on the disk. Before the first sync it is a path in the base. */
  durable: Contents | string
  pending: Change[]
}

interface Folder {
  kind: 'folder'
  now: Map<string, File | Folder>
  durable: Map<string, File | Folder>
  pending: Renaming[]
}

/** A name that appears, disappears, or both: a rename within one folder is atomic. */
interface Renaming {
  order: number
  adds?: { name: string; node: File | Folder }
  removes?: string
  /** Survives only together with this change: a file that is moved to another folder is in at least one of them. */
  after?: Renaming
  isDurable?: true
}

export class Disk {
  readonly #root: Folder
  readonly #base: string

  /** Starts with a folder whose whole content is on the disk. */
  constructor(base: string) {
    this.#base = base
    this.#root = readFolder(base)
  }

  /** `order` increases with each operation. */
  apply(op: Op, order: number): void {
    switch (op.op) {
      case 'create':
        this.#add(order, op.path, { kind: 'file', durable: new Contents(Buffer.alloc(0)), pending: [] })
        return
      case 'folder':
        this.#add(order, op.path, { kind: 'folder', now: new Map(), durable: new Map(), pending: [] })
        return
      case 'write':
        this.#file(op.path)?.pending.push({ order, at: op.at, data: op.data, length: op.length })
        return
      case 'truncate':
        this.#file(op.path)?.pending.push({ order, size: op.size })
        return
      case 'sync':
      case 'sync whole': {
        const file = this.#file(op.path)
        if (!file) return
        file.durable = op.op === 'sync' ? durableOf(file) : new Contents(Buffer.from(op.data))
        if (op.op === 'sync') file.durable.change(file.pending, () => true)
        file.pending = []
        return
      }
      case 'sync folder': {
        const folder = this.#find(op.path)
        if (folder?.kind !== 'folder') return
        folder.durable = new Map(folder.now)
        for (const change of folder.pending) change.isDurable = true
        folder.pending = []
        return
      }
      case 'rename': {
        const node = this.#find(op.path)
        if (!node) return
        const [from, to] = [this.#folder(op.path), this.#folder(op.to)]
        from.now.delete(basename(op.path))
        to.now.set(basename(op.to), node)
        const adds = { name: basename(op.to), node }
        if (from === to) from.pending.push({ order, adds, removes: basename(op.path) })
        else {
          const arrival: Renaming = { order, adds }
          to.pending.push(arrival)
          from.pending.push({ order, removes: basename(op.path), after: arrival })
        }
        return
      }
      case 'link':
        this.#add(order, op.to, this.#find(op.path) as File)
        return
      case 'remove': {
        const folder = this.#folder(op.path)
        folder.now.delete(basename(op.path))
        folder.pending.push({ order, removes: basename(op.path) })
        return
      }
    }
  }

  /** Writes the content of the disk after a power cut into a folder. */
  write(target: string, survives: Survival): void {
    rmSync(target, { recursive: true, force: true })
    this.#write(this.#root, '', target, survives)
  }

  #write(folder: Folder, path: string, target: string, survives: Survival): void {
    mkdirSync(target, { recursive: true })
    const names = new Map(folder.durable)
    for (const change of folder.pending) {
      const { after } = change
      if (after && !after.isDurable && !survives.name(after.order)) continue
      if (!survives.name(change.order)) continue
      if (change.removes !== undefined) names.delete(change.removes)
      if (change.adds) names.set(change.adds.name, change.adds.node)
    }
    for (const [name, node] of names) {
      const below = join(path, name)
      if (node.kind === 'folder') this.#write(node, below, join(target, name), survives)
      else if (typeof node.durable === 'string' && node.pending.length === 0)
        cpSync(node.durable, join(target, name))
      else
        writeFileSync(
          join(target, name),
          remains(node, order => survives.sector(below, order)),
        )
    }
  }

  #add(order: number, path: string, node: File | Folder): void {
    const folder = this.#folder(path)
    folder.now.set(basename(path), node)
    folder.pending.push({ order, adds: { name: basename(path), node } })
  }

  #file(path: string): File | undefined {
    const node = this.#find(path)
    return node?.kind === 'file' ? node : undefined
  }

  #folder(path: string): Folder {
    const folder = this.#find(dirname(path) === '.' ? '' : dirname(path))
    if (folder?.kind !== 'folder') throw new Error(`${path} is in no folder of ${this.#base}`)
    return folder
  }

  #find(path: string): File | Folder | undefined {
    let node: File | Folder | undefined = this.#root
    for (const name of path.split('/').filter(Boolean))
      node = node?.kind === 'folder' ? node.now.get(name) : undefined
    return node
  }
}

function readFolder(path: string): Folder {
  const durable = new Map<string, File | Folder>()
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const below = join(path, entry.name)
    if (entry.isDirectory()) durable.set(entry.name, readFolder(below))
    else durable.set(entry.name, { kind: 'file', durable: below, pending: [] })
  }
  return { kind: 'folder', durable, now: new Map(durable), pending: [] }
}

function durableOf({ durable }: File): Contents {
  return typeof durable === 'string' ? new Contents(readFileSync(durable)) : durable
}

/** The content of a file if these sectors of its changes since the last sync survive. */
function remains(file: File, survives: (order: number) => boolean): Buffer {
  const { bytes } = durableOf(file)
  if (file.pending.length === 0) return bytes
  const contents = new Contents(Buffer.from(bytes))
  contents.change(file.pending, survives)
  return contents.bytes
}

/** A buffer that grows without copying everything each time. */
class Contents {
  #room: Buffer
  #size: number

  constructor(bytes: Buffer) {
    this.#room = bytes
    this.#size = bytes.length
  }

  get bytes(): Buffer {
    return this.#room.subarray(0, this.#size)
  }

  /** Applies the surviving parts of the changes, in order. */
  change(changes: readonly Change[], survives: (order: number) => boolean): void {
    for (const change of changes) {
      if ('size' in change) {
        if (survives(change.order)) this.#resize(change.size)
        continue
      }
      const end = change.at + change.length
      for (let at = change.at; at < end; ) {
        const next = Math.min(end, (Math.floor(at / SECTOR) + 1) * SECTOR)
        if (survives(change.order)) {
          if (next > this.#size) this.#resize(next)
          if (change.data.length === 0) this.#room.fill(0, at, next)
          else change.data.copy(this.#room, at, at - change.at, next - change.at)
        }
        at = next
      }
    }
  }

  #resize(size: number): void {
    if (size > this.#room.length) {
      const room = Buffer.alloc(size * 2)
      this.bytes.copy(room)
      this.#room = room
    }
    this.#room.fill(0, Math.min(size, this.#size), Math.max(size, this.#size))
    this.#size = size
  }
}
