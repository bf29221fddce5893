import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { answered, api } from '../../api/client.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { ActionButton, Trouble } from '../../parts/parts.tsx'
import { saveFile } from '../../parts/save-file.ts'
import { Table } from '../../parts/table.tsx'
import { useList } from '../../parts/use-list.ts'
import { useFormat } from '../../texts/texts.tsx'
import ExportDialog from './export-dialog.tsx'
import { type ExportLog, isEnded, readExportFile } from './import-queries.ts'
import { useImportTexts } from './texts.ts'

/** The exports of the last 30 days, with the files of those that were made in the background. */
export function ExportLogs() {
  const t = useImportTexts()
  const format = useFormat()
  const { may } = useWorkspace()
  const [isExporting, setExporting] = useState(false)
  const list = useList(['exports', 'list'], (page, signal) =>
    answered(api.GET('/api/v3/tasks/export-log', { params: { query: page }, signal })),
  )
  const load = useMutation({
    mutationFn: async ({ _id, fileName }: ExportLog) => saveFile(await readExportFile(_id), fileName),
  })
  const status = (one: ExportLog) =>
    one.status === 'failed' ? (
      <span lang="en">{one.error}</span>
    ) : isEnded(one) ? (
      t.statuses[one.status]
    ) : (
      `${t.statuses[one.status]} ${format.percent(one.progress * 100)}`
    )
  return (
    <>
      {may('export/task') && (
        <div className="row-of-buttons">
          <ActionButton icon="download" onPress={() => setExporting(true)}>
            {t.exportTasks}
          </ActionButton>
        </div>
      )}
      {isExporting && (
        <ExportDialog type={null} filter={{}} isSearched={false} onClose={() => setExporting(false)} />
      )}
      {load.error && <Trouble error={load.error} isDeed />}
      <Table<ExportLog>
        label={t.exports}
        list={list}
        empty={t.noExports}
        emptyHint={t.noExportsHint}
        columns={[
          { id: 'file', title: t.file, cell: one => one.fileName },
          {
            id: 'what',
            title: t.type,
            cell: one => one.dataType?.name ?? (one.resource === 'tasks' ? t.tasks : '–'),
            minor: true,
          },
          { id: 'status', title: t.status, cell: status },
          { id: 'rows', title: t.records, cell: one => format.count(one.processed), minor: true },
          { id: 'by', title: t.by, cell: one => one.createdBy?.name ?? '–', minor: true },
          { id: 'at', title: t.at, cell: one => format.dateTime(one.createdAt), minor: true },
          {
            id: 'download',
            title: '',
            cell: one =>
              one.direct ? (
                <span className="hint">{t.direct}</span>
              ) : (
                one.status === 'completed' && (
                  <ActionButton
                    looks="quiet"
                    icon="download"
                    aria-label={`${t.download}: ${one.fileName}`}
                    isPending={load.isPending && load.variables?._id === one._id}
                    onPress={() => load.mutate(one)}
                  >
                    {t.download}
                  </ActionButton>
                )
              ),
          },
        ]}
      />
    </>
  )
}
