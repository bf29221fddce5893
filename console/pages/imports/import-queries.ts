import { useQuery, useQueryClient } from '@tanstack/react-query'
import { answered, api } from '../../api/client.ts'
import type { components } from '../../api/interface.d.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { useWatched } from '../../live/watching.ts'
import type { Mapping } from './mapping.ts'

type Schemas = components['schemas']
export type ImportRecord = Schemas['ImportRecord']
export type ImportConfig = Schemas['ImportConfig']
export type ExportLog = Schemas['ExportLog']

/** The live socket tells of progress. This is for a browser that cannot open one. */
const POLL_MS = 5_000
const MAX_CONFIGS = 200

export const isEnded = ({ status }: { status: ImportRecord['status'] | ExportLog['status'] }): boolean =>
  status !== 'queued' && status !== 'processing'

const path = (id: string) => ({ params: { path: { id } } })

/** Shows the progress of imports and exports as the server sends it. */
export function useLiveTransfers(): void {
  const queries = useQueryClient()
  const refresh = (name: string) => () => void queries.invalidateQueries({ queryKey: [name] })
  useWatched('imports', {
    onWatching: refresh('imports'),
    onChange: message => {
      if (message.type !== 'import') return
      queries.setQueryData(['imports', message.import._id], message.import)
      void queries.invalidateQueries({ queryKey: ['imports', 'list'] })
    },
  })
  useWatched('exports', { onWatching: refresh('exports'), onChange: refresh('exports') })
}

export function useImport(id: string | null) {
  return useQuery({
    queryKey: ['imports', id],
    enabled: id !== null,
    queryFn: async () => (await answered(api.GET('/api/v3/import-monitoring/{id}', path(id ?? '')))).data,
    refetchInterval: ({ state: { data } }) => (data && isEnded(data) ? false : POLL_MS),
  })
}

export function useImportConfigs(dataTypeId: string): ImportConfig[] {
  const { may } = useWorkspace()
  const { data } = useQuery({
    queryKey: ['import-configs', dataTypeId],
    enabled: dataTypeId !== '' && may('view/import-config'),
    queryFn: async ({ signal }) => {
      const query = { dataTypeId, limit: MAX_CONFIGS }
      return (await answered(api.GET('/api/v3/import-configs', { params: { query }, signal }))).data
    },
  })
  return data ?? []
}

export interface Upload {
  file: File
  dataTypeId: string
  /** Null: the server proposes it. */
  mapping: Mapping | null
  importConfigId: string
  mode: ImportRecord['mode']
  dryRun: boolean
}

/** Sends a file. The answer is the record to watch. */
export async function upload({
  file,
  dataTypeId,
  mapping,
  importConfigId,
  mode,
  dryRun,
}: Upload): Promise<ImportRecord> {
  const form = new FormData()
  form.set('dataTypeId', dataTypeId)
  form.set('mode', mode)
  form.set('dryRun', String(dryRun))
  if (mapping) form.set('mapping', JSON.stringify(mapping))
  else if (importConfigId) form.set('importConfigId', importConfigId)
  // Last: the server knows what to do with a file once it comes.
  form.set('file', file)
  const { data } = await answered(
    api.POST('/api/v3/data/import', {
      body: form as never,
      bodySerializer: body => body as unknown as FormData,
    }),
  )
  return data
}

export const cancelImport = (id: string) =>
  answered(api.POST('/api/v3/import-monitoring/{id}/cancel', path(id)))

export async function readFailedRows(id: string): Promise<Blob> {
  return (await answered(
    api.GET('/api/v3/import-monitoring/{id}/failed-rows', { ...path(id), parseAs: 'blob' }),
  )) as unknown as Blob
}

export async function readExportFile(id: string): Promise<Blob> {
  return (await answered(
    api.GET('/api/v3/tasks/export-log/{id}/file', { ...path(id), parseAs: 'blob' }),
  )) as unknown as Blob
}
