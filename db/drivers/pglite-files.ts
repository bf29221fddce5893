import { fdatasyncSync, rmSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { NodeFS } from '@electric-sql/pglite/nodefs'
import { syncFile, syncFolder, syncTree } from '../durable-files.ts'

/**
 * The files of PGlite, made durable in the order that PostgreSQL's recovery requires. PGlite starts PostgreSQL with -F,
 * so PostgreSQL never asks for a sync (without -F it waits forever for a checkpointer, which would be a separate
 * process). But all its writes go through the file system of its WebAssembly module, which is JavaScript. There the
 * order is kept:
 *
 * - The log (pg_wal) is synced before the result of a statement is returned, and before any other file is changed: a
 *   page
 *   must not be on the disk without the log that explains it.
 * - Everything is synced, including names, before `global/pg_control` is written, and that file before anything else
 *   happens: it says from where the log is replayed, and the log before that is discarded.
 * - A file is synced before it is renamed, and its folder afterwards: a segment of the log gets its name that way, or a
 *   new one.
 *
 * The writes of a process that died may be in memory only. So everything is synced before PostgreSQL starts, as
 * PostgreSQL itself does after a crash.
 *
 * A failed sync is not repeated: the kernel forgets what it could not write, and reports success the next time
 * (https://wiki.postgresql.org/wiki/Fsync_Errors). From then on nothing is written and no result is returned.
 *
 * This uses parts private to Emscripten, which test/db/pglite-files.test.ts checks: `NODEFS.node_ops` and `stream_ops`,
 * through which it writes, `NODEFS.realPath`, and the descriptor `nfd` of an open file.
 */
export class DurableFiles extends NodeFS {
  readonly #control = join(this.rootDir, 'global', 'pg_control')
  readonly #log = join(this.rootDir, 'pg_wal') + sep
  readonly #dirty = { log: new Set<string>(), files: new Set<string>(), folders: new Set<string>() }
  #failure: unknown

  /** The reason why nothing can be made durable any more; undefined while it can. */
  get failure(): unknown {
    return this.#failure
  }

  override async init(...[pglite, options]: Parameters<NodeFS['init']>): ReturnType<NodeFS['init']> {
    // The directory is locked, so this file belongs to no process. PostgreSQL would not start with an empty one, as a
    // power cut leaves it.
    rmSync(join(this.rootDir, 'postmaster.pid'), { force: true })
    syncTree(this.rootDir)
    const { emscriptenOpts } = await super.init(pglite, options)
    const preRun = [
      ...(emscriptenOpts.preRun ?? []),
      (module: { FS: Emscripten }) => this.#watch(module.FS),
    ] as typeof emscriptenOpts.preRun
    return { emscriptenOpts: { ...emscriptenOpts, preRun } }
  }

  /** PGlite waits for this before it returns the result of a statement. */
  override async syncToFs(): Promise<void> {
    this.#try(() => this.#syncLog())
    if (this.#failure) throw new Error('The disk does not take what was written', { cause: this.#failure })
  }

  #watch(FS: Emscripten): void {
    const { node_ops: nodes, stream_ops: streams, realPath } = FS.filesystems.NODEFS
    const pathIn = (folder: Node, name: string) => join(realPath(folder), name)
    const { log, files, folders } = this.#dirty
    const isLog = (path: string) => path.startsWith(this.#log)
    const attempt = (work: () => void) => {
      this.#try(work)
      if (this.#failure) throw new FS.ErrnoError(EIO)
    }
    const beforeChange = (path: string) =>
      attempt(() => {
        if (path === this.#control) this.#syncAll()
        else if (!isLog(path)) this.#syncLog()
      })

    const { write } = streams
    streams.write = (stream, buffer, offset, length, position) => {
      const path = realPath(stream.node)
      // A file grows by pages of zeros, which need no log: in a large transaction these are most of the writes in
      // between.
      if (!isZero(buffer, offset, length)) beforeChange(path)
      if (path !== this.#control) (isLog(path) ? log : files).add(path)
      const written = write(stream, buffer, offset, length, position)
      if (path === this.#control) attempt(() => fdatasyncSync(stream.nfd))
      return written
    }

    const { setattr, mknod, symlink, rename, unlink, rmdir } = nodes
    nodes.setattr = (node, attributes) => {
      if (attributes.size !== undefined) {
        const path = realPath(node)
        beforeChange(path)
        files.add(path)
      }
      setattr(node, attributes)
    }
    nodes.mknod = (parent, name, mode, device) => {
      const node = mknod(parent, name, mode, device)
      folders.add(realPath(parent))
      if (FS.isDir(mode)) folders.add(pathIn(parent, name))
      return node
    }
    nodes.symlink = (parent, name, target) => {
      symlink(parent, name, target)
      folders.add(realPath(parent))
    }
    nodes.rename = (node, parent, name) => {
      const from = realPath(node)
      const to = pathIn(parent, name)
      beforeChange(from)
      attempt(() => {
        if (log.delete(from) || files.delete(from)) syncFile(from)
      })
      rename(node, parent, name)
      log.delete(to)
      files.delete(to)
      attempt(() => {
        for (const folder of new Set([dirname(from), dirname(to)])) syncFolder(folder)
      })
    }
    nodes.unlink = (parent, name) => {
      const path = pathIn(parent, name)
      beforeChange(path)
      unlink(parent, name)
      log.delete(path)
      files.delete(path)
      folders.add(realPath(parent))
    }
    nodes.rmdir = (parent, name) => {
      beforeChange(pathIn(parent, name))
      rmdir(parent, name)
      folders.delete(pathIn(parent, name))
      folders.add(realPath(parent))
    }
  }

  #syncLog(): void {
    for (const path of this.#dirty.log) syncFile(path)
    this.#dirty.log.clear()
  }

  #syncAll(): void {
    this.#syncLog()
    for (const path of this.#dirty.files) syncFile(path)
    this.#dirty.files.clear()
    for (const path of this.#dirty.folders) syncFolder(path)
    this.#dirty.folders.clear()
  }

  /** An error thrown inside the WebAssembly module may be caught there, so it is stored. */
  #try(work: () => void): void {
    if (this.#failure) return
    try {
      work()
    } catch (error) {
      this.#failure = error
    }
  }
}

/** The part of Emscripten's file system that is used here. */
interface Emscripten {
  isDir(mode: number): boolean
  ErrnoError: new (errno: number) => Error
  filesystems: {
    NODEFS: {
      realPath(node: Node): string
      node_ops: {
        setattr(node: Node, attributes: { size?: number }): void
        mknod(parent: Node, name: string, mode: number, device: number): Node
        symlink(parent: Node, name: string, target: string): void
        rename(node: Node, parent: Node, name: string): void
        unlink(parent: Node, name: string): void
        rmdir(parent: Node, name: string): void
      }
      stream_ops: {
        write(stream: Stream, buffer: Int8Array, offset: number, length: number, position: number): number
      }
    }
  }
}
type Node = { readonly brand: unique symbol }
interface Stream {
  node: Node
  nfd: number
}
/** The number of WASI. */
const EIO = 29

const ZEROS = Buffer.alloc(8192)

function isZero({ buffer, byteOffset }: Int8Array, offset: number, length: number): boolean {
  return (
    length <= ZEROS.length &&
    ZEROS.subarray(0, length).equals(new Uint8Array(buffer, byteOffset + offset, length))
  )
}
