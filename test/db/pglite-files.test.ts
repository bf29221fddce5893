import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { DurableFiles } from '../../db/drivers/pglite-files.ts'

/**
 * test/integrity/power-cuts.test.ts shows that power cuts lose nothing; these tests check the requirements for that.
 */
describe('The files of the embedded database', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'fieldline-files-'))
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  it('are opened with an empty lock file of PostgreSQL, as a power cut leaves one, and changed by the operations that are known alone', async () => {
    const directory = join(folder, 'operations')
    cpSync(inject('pgliteTemplate'), directory, { recursive: true })
    writeFileSync(join(directory, 'postmaster.pid'), '')
    const db = await PGlite.create({ fs: new DurableFiles(directory) })
    const { NODEFS } = db.Module.FS.filesystems as unknown as { NODEFS: { [name: string]: object } }
    const reading = ['getattr', 'lookup', 'readdir', 'readlink', 'statfs']
    const changing = ['setattr', 'mknod', 'rename', 'unlink', 'rmdir', 'symlink']
    expect(Object.keys(NODEFS.node_ops as object).sort()).toEqual([...reading, ...changing].sort())
    // A mapped page comes back through `write`, and there is no `allocate`: preallocated space is written.
    expect(Object.keys(NODEFS.stream_ops as object).sort()).toEqual(
      ['open', 'close', 'dup', 'read', 'write', 'llseek', 'mmap', 'msync'].sort(),
    )
    // Without these settings, the log replayed after a power cut would be torn or incomplete.
    const { rows } = await db.query(
      `SELECT name, setting FROM pg_settings
       WHERE name IN ('full_page_writes', 'wal_level', 'data_checksums', 'synchronous_commit') ORDER BY name`,
    )
    expect(rows).toEqual([
      { name: 'data_checksums', setting: 'on' },
      { name: 'full_page_writes', setting: 'on' },
      { name: 'synchronous_commit', setting: 'on' },
      { name: 'wal_level', setting: 'replica' },
    ])
    await db.close()
  })
})
