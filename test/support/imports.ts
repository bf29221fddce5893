import type { Import } from '../../db/queries/imports.ts'
import type { Answer, Client } from './client.ts'
import { until } from './wait.ts'

/** An import in an answer, without its times. */
export type ImportRecord = Pick<
  Import,
  | '_id'
  | 'status'
  | 'total'
  | 'processed'
  | 'created'
  | 'updated'
  | 'unchanged'
  | 'failed'
  | 'progress'
  | 'error'
  | 'mapping'
  | 'failures'
  | 'undo'
> & { canUndo: boolean }

/** Sends a file as a form does. */
export async function upload(
  server: { url: string },
  client: Client,
  file: Buffer | string,
  fields: { [name: string]: string } = {},
  fileName = 'file.csv',
  headers: { [name: string]: string } = {},
): Promise<Answer> {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  form.append('file', new Blob([typeof file === 'string' ? file : new Uint8Array(file)]), fileName)
  const response = await fetch(`${server.url}/api/v3/data/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.token}`, ...headers },
    body: form,
  })
  return { status: response.status, body: await response.json(), headers: response.headers }
}

/** Waits until an import has ended, and returns it. */
export async function ended(client: Client, importId: string, timeoutMs = 120_000): Promise<ImportRecord> {
  let found: ImportRecord | undefined
  await until(
    'the import ends',
    async () => {
      found = (await client.get(`/import-monitoring/${importId}`)).body.data
      return !['queued', 'processing'].includes(found?.status ?? '')
    },
    timeoutMs,
  )
  return found as ImportRecord
}

/** Sends a file that is accepted, and returns its import when it has ended. */
export async function importFile(
  server: { url: string },
  client: Client,
  file: Buffer | string,
  fields: { [name: string]: string } = {},
  fileName = 'file.csv',
): Promise<ImportRecord> {
  const answer = await upload(server, client, file, fields, fileName)
  if (answer.status !== 202) throw new Error(`Refused with ${answer.status}: ${JSON.stringify(answer.body)}`)
  return ended(client, answer.body.data._id)
}

/** Imports two rows, of which one fails, into a new type; for data that no example of the document can send. */
export async function importWithBadRow(server: { url: string }, client: Client, name: string): Promise<void> {
  const fields = [{ key: 'size', label: 'Size', type: 'number' }]
  const made = await client.post('/data-type', { name: `${name} imported`, fields })
  const done = await importFile(server, client, `Size\n1\n${name}\n`, { dataTypeId: made.body.data._id })
  if (done.created !== 1 || done.failed !== 1) throw new Error(`${done.status}: ${done.error}`)
}
