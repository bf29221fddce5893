import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { readName } from '../../api/lists.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { KINDS, type PageKind, permissionTo } from '../../kinds.ts'
import { ChooseFound } from '../../parts/choose-record.tsx'
import { ActionButton, sayFailure, Trouble } from '../../parts/parts.tsx'
import { Question } from '../../parts/question.tsx'
import { useMatching } from '../../parts/records.ts'
import { offerUndo } from '../../parts/undo.ts'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { useBulkTexts } from './bulk-texts.ts'

/** The changes of one record, which are made to all that are chosen. */
export interface Bulk<T> {
  /** Null takes it out of its hub. */
  setHub?: (record: T, hubId: string | null) => Promise<unknown>
  hubOf?: (record: T) => string | null
  remove: (record: T) => Promise<unknown>
}

/** Requests at once: many more would wait at the server. */
const AT_ONCE = 4
const NAMED = 5
/** No hub is a choice as well, so that nothing chosen yet is another one. */
const [NO_HUB, UNCHOSEN] = ['none', 'unchosen'] as const

/** Runs a request for each record. Returns those that failed, with the first error. */
async function forAll<T>(records: readonly T[], work: (record: T) => Promise<unknown>) {
  const waiting = [...records]
  const failed: T[] = []
  let error: unknown = null
  const next = async () => {
    for (let record = waiting.shift(); record !== undefined; record = waiting.shift()) {
      try {
        await work(record)
      } catch (problem) {
        failed.push(record)
        error ??= problem
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, next))
  return { failed, error }
}

interface Props<T> {
  kind: PageKind
  bulk: Bulk<T>
  chosen: ReadonlyMap<string, T>
  onChosen: (chosen: ReadonlyMap<string, T>) => void
}

/** The bar with the changes of the chosen records: one question before they are deleted, one undo after they have moved. */
export function BulkBar<T extends { _id: string; name: string }>({ kind, bulk, chosen, onChosen }: Props<T>) {
  const texts = useTexts()
  const t = useBulkTexts()
  const format = useFormat()
  const queries = useQueryClient()
  const { may } = useWorkspace()
  const [isAsking, setAsking] = useState(false)
  const records = [...chosen.values()]
  const mayDo = (deed: string) => may(`${deed}/${KINDS[kind].singular}`)
  const keep = (failed: readonly T[]) => onChosen(new Map(failed.map(one => [one._id, one])))
  const done = useMutation({
    mutationFn: (work: () => ReturnType<typeof forAll<T>>) => work(),
    onSettled: () => {
      setAsking(false)
      void queries.invalidateQueries({ queryKey: [kind] })
    },
  })
  const moveTo = (hubId: string | null) =>
    done.mutate(async () => {
      const { setHub, hubOf } = bulk
      const before = records.map(record => ({ record, hubId: hubOf?.(record) ?? null }))
      const result = await forAll(records, record => setHub?.(record, hubId) ?? Promise.resolve())
      keep(result.failed)
      const moved = before.filter(({ record }) => !result.failed.includes(record))
      const [count, text] = [moved.length, format.count(moved.length)]
      const name = hubId === null ? null : ((await readName('hubs', hubId)) ?? texts.form.unknown)
      if (count > 0)
        offerUndo({
          text: name === null ? t.taken(count, text) : t.moved(count, text, name),
          undo: async () => {
            const back = await forAll(moved, one => setHub?.(one.record, one.hubId) ?? Promise.resolve())
            if (back.error) throw back.error
          },
        })
      return result
    })
  const removeAll = () =>
    done.mutate(async () => {
      const result = await forAll(records, bulk.remove)
      keep(result.failed)
      return result
    })
  const names = records
    .slice(0, NAMED)
    .map(({ name }) => name)
    .join(', ')
  const more = records.length - NAMED
  const count = format.count(records.length)
  const mayMove = bulk.setHub && mayDo('update') && may(permissionTo('view', 'hubs'))
  const failures = done.data?.failed.length ?? 0
  return (
    <section className="bulk-bar" aria-label={t.bar}>
      {isAsking ? (
        <Question
          ask={t.deleteAsk(records.length, count, more > 0 ? t.andMore(names, format.count(more)) : names)}
          yes={texts.records.delete}
          isPending={done.isPending}
          onYes={removeAll}
          onNo={() => setAsking(false)}
        />
      ) : (
        <div className="row-of-buttons">
          <strong role="status">{t.chosen(records.length, count)}</strong>
          {mayMove && <ChooseHub onChoose={moveTo} />}
          {mayDo('delete') && (
            <ActionButton looks="danger" isPending={done.isPending} onPress={() => setAsking(true)}>
              {texts.records.delete}
            </ActionButton>
          )}
          <ActionButton looks="quiet" onPress={() => onChosen(new Map())}>
            {t.clear}
          </ActionButton>
        </div>
      )}
      {done.error && <Trouble error={done.error} isDeed />}
      {failures > 0 && (
        <p className="trouble" role="alert">
          {t.failed(failures, format.count(failures))} {sayFailure(done.data?.error, texts)}
        </p>
      )}
    </section>
  )
}

/** A field whose choice is done at once. */
function ChooseHub({ onChoose }: { onChoose: (hubId: string | null) => void }) {
  const t = useBulkTexts()
  const [text, setText] = useState('')
  const hubs = useMatching('hubs', text)
  const choices = text.trim() === '' ? [{ id: NO_HUB, name: t.noHub }, ...hubs] : hubs
  return (
    <ChooseFound
      compact
      label={t.hub}
      value={UNCHOSEN}
      chosen={t.hub}
      {...{ text, setText, choices }}
      onChange={id => onChoose(id === NO_HUB ? null : id)}
    />
  )
}
