import { useMutation } from '@tanstack/react-query'
import { Suspense, useState } from 'react'
import { lazyWithRetry } from '../../api/lazy-with-retry.ts'
import { ActionButton, Trouble } from '../../parts/parts.tsx'
import { saveFile } from '../../parts/save-file.ts'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { useDataTypes } from '../data/data-queries.ts'
import { cancelImport, type ImportRecord, isEnded, readFailedRows } from './import-queries.ts'
import { useImportTexts } from './texts.ts'
import { Undo } from './undo.tsx'

const MendRows = lazyWithRetry(() => import('./mend-rows.tsx'))

const COUNTED = ['created', 'updated', 'unchanged', 'failed'] as const
/** The rest is in the file of failed rows. */
const SHOWN_FAILURES = 100

/** How far an import or its check is, and what became of the rows. */
export function Outcome({
  record,
  onMended,
}: {
  record: ImportRecord
  onMended: (importId: string) => void
}) {
  const t = useImportTexts()
  const format = useFormat()
  const words = record.dryRun ? t.wouldCounts : t.counts
  const stop = useMutation({ mutationFn: () => cancelImport(record._id) })
  const isRunning = !isEnded(record)
  const { processed, total } = record
  return (
    <section className="stack outcome" aria-label={record.dryRun ? t.would : t.did}>
      {isRunning && (
        <div className="row-of-buttons">
          <Progress value={record.progress} />
          <ActionButton isPending={stop.isPending} onPress={() => stop.mutate()}>
            {t.cancel}
          </ActionButton>
        </div>
      )}
      {record.error && (
        <p className="trouble" role="alert" lang="en">
          {record.error}
        </p>
      )}
      <p className="counts" role="status">
        <span>
          {record.dryRun && !isRunning && record.error === null ? t.dryRun : t.statuses[record.status]}
        </span>
        {COUNTED.filter(name => record[name] > 0 || (name === 'created' && !isRunning)).map(name => (
          <b key={name} className={name}>
            {words[name](format.count(record[name]))}
          </b>
        ))}
        <span className="hint">
          {total === null
            ? t.rows(format.count(processed))
            : t.rowsOf(format.count(processed), format.count(total))}
        </span>
      </p>
      {record.failed > 0 && <Failures record={record} onMended={onMended} />}
      {(record.canUndo || record.undo) && <Undo record={record} />}
    </section>
  )
}

/** The browser's own element: that of React Aria would load with the first page, whose buttons know of it. */
function Progress({ value }: { value: number }) {
  const t = useImportTexts()
  return <progress aria-label={t.progress} value={value} className="progress" />
}

function Failures({ record, onMended }: { record: ImportRecord; onMended: (importId: string) => void }) {
  const t = useImportTexts()
  const { loading } = useTexts()
  const format = useFormat()
  const { types } = useDataTypes()
  const type = types.find(({ _id }) => _id === record.dataType._id)
  const labelOf = (key: string | null) =>
    key === null ? t.wholeRow : (type?.fields.find(field => field.key === key)?.label ?? key)
  const load = useMutation({
    mutationFn: async () => saveFile(await readFailedRows(record._id), record.fileName),
  })
  const [isMending, setMending] = useState(false)
  const shown = record.failures.slice(0, SHOWN_FAILURES)
  if (isMending)
    return (
      <>
        <h3>{t.failures}</h3>
        <Suspense fallback={<p className="hint">{loading}</p>}>
          <MendRows record={record} onSent={onMended} onClose={() => setMending(false)} />
        </Suspense>
      </>
    )
  return (
    <>
      <h3>{t.failures}</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is scrolled by keys too */}
      <section className="failures" tabIndex={0} aria-label={t.failures}>
        <table>
          <thead>
            <tr>
              <th scope="col">{t.row}</th>
              <th scope="col">{t.field}</th>
              <th scope="col">{t.value}</th>
              <th scope="col">{t.message}</th>
            </tr>
          </thead>
          <tbody>
            {shown.map(({ row, field, value, message }, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a row may fail for several reasons, and the list does not change
              <tr key={index}>
                <td>{format.count(row)}</td>
                <td>{labelOf(field)}</td>
                <td>
                  <mark>{value ?? '–'}</mark>
                </td>
                <td lang="en">{message}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {record.failed > shown.length && (
        <p className="hint">{t.moreFailures(format.count(record.failed - shown.length))}</p>
      )}
      {isEnded(record) && (
        <div className="row-of-buttons">
          {!record.dryRun && <ActionButton onPress={() => setMending(true)}>{t.mend}</ActionButton>}
          <ActionButton icon="download" isPending={load.isPending} onPress={() => load.mutate()}>
            {t.failedRows}
          </ActionButton>
          <p className="hint">{t.failedHint}</p>
        </div>
      )}
      {load.error && <Trouble error={load.error} isDeed />}
    </>
  )
}
