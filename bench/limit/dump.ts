import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { postgis } from '@electric-sql/pglite-postgis'
import type { Store } from '../tiers.ts'

/** Lets a database alone write out the rows of an answer of the history. */
export interface Dumper {
  name: string
  /** Writes the rows. Throws if some are missing. */
  dump(): Promise<void>
  close(): Promise<void>
}

const SELECT = (day: { from: number; to: number }) =>
  `SELECT subject_key, recorded_at, received_at, ST_Y(position), ST_X(position), speed, heading, accuracy,
     altitude, battery, attributes
   FROM points WHERE subject_key = (SELECT s.key FROM subjects s JOIN devices d ON d.id = s.id WHERE d.name = 'Tracker 1')
     AND recorded_at >= to_timestamp(${day.from / 1000}) AND recorded_at < to_timestamp(${day.to / 1000})
   ORDER BY recorded_at`.replaceAll(/\s+/g, ' ')

export async function openDumper(
  store: Store,
  day: { from: number; to: number },
  rows: number,
): Promise<Dumper> {
  return store.url ? openPsql(store.url, store.directory, day, rows) : openBlob(store.directory, day, rows)
}

/** A psql process that stays open, so that neither its start nor its connection is measured; it writes to a file. */
async function openPsql(
  url: string,
  directory: string,
  day: { from: number; to: number },
  rows: number,
): Promise<Dumper> {
  const psql = spawn('psql', [url, '--no-psqlrc', '--quiet', '--tuples-only'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  await once(psql, 'spawn')
  psql.stdout.setEncoding('utf8')
  const file = join(directory, 'day.copy')
  return {
    name: 'psql COPY to a file',
    async dump() {
      psql.stdin.write(`\\copy (${SELECT(day)}) to '${file}'\n\\echo done\n`)
      let answer = ''
      while (!answer.includes('done')) answer += (await once(psql.stdout, 'data'))[0]
      const lines = countLines(readFileSync(file))
      if (lines !== rows) throw new Error(`COPY wrote ${lines} rows of ${rows}`)
    },
    async close() {
      psql.stdin.end()
      await once(psql, 'close')
    },
  }
}

/** PGlite in this process; its COPY writes to a blob. */
async function openBlob(directory: string, day: { from: number; to: number }, rows: number): Promise<Dumper> {
  const pglite = await PGlite.create({ dataDir: directory, extensions: { postgis } })
  return {
    name: 'COPY to a blob, in process',
    async dump() {
      const { blob } = await pglite.query(`COPY (${SELECT(day)}) TO '/dev/blob'`)
      const lines = countLines(Buffer.from((await blob?.arrayBuffer()) ?? new ArrayBuffer(0)))
      if (lines !== rows) throw new Error(`COPY wrote ${lines} rows of ${rows}`)
    },
    close: () => pglite.close(),
  }
}

/** 10 MB take 3 ms. */
function countLines(text: Buffer): number {
  let lines = 0
  for (let at = text.indexOf(10); at >= 0; at = text.indexOf(10, at + 1)) lines++
  return lines
}
