import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { answered, api } from '../../api/client.ts'
import { ActionButton, Trouble } from '../../parts/parts.tsx'
import { Question } from '../../parts/question.tsx'
import { useFormat } from '../../texts/texts.tsx'
import type { ImportRecord } from './import-queries.ts'
import { useImportTexts } from './texts.ts'

const LEFT = ['changed', 'gone', 'referred', 'unfit', 'forgotten'] as const

/** Asks for the undo of an import, and tells how far it is and what was left alone. */
export function Undo({ record }: { record: ImportRecord }) {
  const t = useImportTexts()
  const format = useFormat()
  const queries = useQueryClient()
  const [isAsking, setAsking] = useState(false)
  const { _id: id, undo, canUndo } = record
  const start = useMutation({
    mutationFn: async () =>
      (await answered(api.POST('/api/v3/import-monitoring/{id}/undo', { params: { path: { id } } }))).data,
    onSettled: () => setAsking(false),
    onSuccess: begun => {
      queries.setQueryData(['imports', id], begun)
      void queries.invalidateQueries({ queryKey: ['imports', 'list'] })
    },
  })
  const left = LEFT.filter(reason => (undo?.left[reason] ?? 0) > 0)
  return (
    <>
      {undo && (
        <section className="stack" aria-label={t.undoTitle}>
          <h3>{t.undoTitle}</h3>
          <p className="counts" role="status">
            <span>{t.undoStatuses[undo.status]}</span>
            <b>{t.undone.deleted(format.count(undo.deleted))}</b>
            <b>{t.undone.restored(format.count(undo.restored))}</b>
          </p>
          {undo.error && (
            <p className="trouble" role="alert" lang="en">
              {undo.error}
            </p>
          )}
          {left.length > 0 && (
            <ul className="left-alone">
              {left.map(reason => (
                <li key={reason}>{t.left[reason](format.count(undo.left[reason]))}</li>
              ))}
            </ul>
          )}
        </section>
      )}
      {start.error && <Trouble error={start.error} isDeed />}
      {canUndo &&
        (isAsking ? (
          <Question
            ask={t.undoAsk(format.count(record.created), format.count(record.updated))}
            yes={t.undo}
            isPending={start.isPending}
            onYes={() => start.mutate()}
            onNo={() => setAsking(false)}
          />
        ) : (
          <div className="row-of-buttons">
            <ActionButton icon="undo" onPress={() => setAsking(true)}>
              {t.undo}
            </ActionButton>
            <p className="hint">{t.undoHint}</p>
          </div>
        ))}
    </>
  )
}
