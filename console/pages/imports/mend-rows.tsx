import { useMutation, useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { ActionButton, Trouble } from '../../parts/parts.tsx'
import { useUnsaved } from '../../parts/unsaved.ts'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { useDataTypes } from '../data/data-queries.ts'
import { type ImportRecord, readFailedRows, upload } from './import-queries.ts'
import { MendGrid } from './mend-grid.tsx'
import { faultsOf, readFailed } from './mending.ts'
import { useImportTexts } from './texts.ts'

type Edited = ReadonlyMap<number, ReadonlyMap<number, string>>

/** The failed rows of an import to be mended here. Those that were changed are sent as another import. */
export default function MendRows({
  record,
  onSent,
  onClose,
}: {
  record: ImportRecord
  onSent: (importId: string) => void
  onClose: () => void
}) {
  const texts = useTexts()
  const t = useImportTexts()
  const format = useFormat()
  const [edits, setEdits] = useState<Edited>(new Map())
  const { types } = useDataTypes()
  const type = types.find(({ _id }) => _id === record.dataType._id)
  const failed = useQuery({
    queryKey: ['imports', record._id, 'failed-rows'],
    enabled: type !== undefined,
    queryFn: async () => readFailed(await readFailedRows(record._id), record.fileName, type?.fields ?? []),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  })
  const table = failed.data
  const faults = useMemo(() => (table ? faultsOf(record, table.headings) : []), [record, table])
  const send = useMutation({
    mutationFn: async () => {
      const file = await (table as NonNullable<typeof table>).write(edits)
      return upload({
        file: new File([file], record.fileName),
        dataTypeId: record.dataType._id,
        mapping: record.mapping,
        importConfigId: '',
        mode: record.mode,
        dryRun: false,
      })
    },
    onSuccess: made => {
      letGo()
      onSent(made._id)
    },
  })
  const letGo = useUnsaved(edits.size > 0)
  const edit = (changes: readonly { row: number; column: number; text: string }[]) =>
    setEdits(before => {
      const next = new Map(before)
      for (const { row, column, text } of changes) {
        const cells = new Map(next.get(row))
        if (text === (table?.rows[row]?.[column] ?? '')) cells.delete(column)
        else cells.set(column, text)
        if (cells.size > 0) next.set(row, cells)
        else next.delete(row)
      }
      return next
    })
  const count = format.count(edits.size)
  return (
    <section className="stack" aria-label={t.mend}>
      {failed.isPending && <p className="hint">{texts.loading}</p>}
      {failed.error && <Trouble error={failed.error} onRetry={() => void failed.refetch()} />}
      {table && <MendGrid table={table} faults={faults} edits={edits} onEdit={edit} />}
      {record.failed > faults.length && table && (
        <p className="hint">{t.mendFirst(format.count(Math.min(faults.length, table.rows.length)))}</p>
      )}
      {send.error && <Trouble error={send.error} isDeed />}
      <div className="row-of-buttons">
        <ActionButton
          looks="primary"
          isDisabled={edits.size === 0}
          isPending={send.isPending}
          onPress={() => send.mutate()}
        >
          {t.sendMended(count, edits.size)}
        </ActionButton>
        <ActionButton onPress={onClose}>{texts.form.cancel}</ActionButton>
      </div>
    </section>
  )
}
