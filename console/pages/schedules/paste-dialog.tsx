import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ClipboardEvent, useMemo, useRef, useState } from 'react'
import { TextArea, TextField } from 'react-aria-components'
import { answered, api } from '../../api/client.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { serverNow } from '../../clock.ts'
import { Modal } from '../../parts/modal.tsx'
import { ActionButton, Copyable, Trouble } from '../../parts/parts.tsx'
import { useRecords } from '../../parts/records.ts'
import { useUnsaved } from '../../parts/unsaved.ts'
import { describeField } from '../../texts/errors.ts'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { usePeople, useTeams, useVehicles } from '../tasks/task-queries.ts'
import { type CellErrors, PasteGrid } from './paste-grid.tsx'
import { usePasteTexts } from './paste-texts.ts'
import {
  COLUMNS,
  type ColumnName,
  MAX_PASTED,
  MAX_ROWS,
  type PastedRow,
  type PastedTable,
  readTable,
} from './pasted-table.ts'
import { columnAt, type KnownNames, readRow } from './pasted-values.ts'

const NOTHING: PastedTable = { columns: [], rows: [], unknown: [], tooMany: 0 }

/** The server's failure for a row, until somebody changes the row. */
type Refused = ReadonlyMap<number, CellErrors>

function useKnownNames(): KnownNames {
  const [people, vehicles, teams] = [usePeople(), useVehicles(), useTeams()]
  const hubs = useRecords('hubs', '')
  return useMemo(
    () => ({
      assignee: people.filter(({ status }) => status === 'active'),
      vehicle: vehicles.map(({ _id, name, plate }) => ({ _id, name, also: plate })),
      team: teams,
      hub: hubs.map(({ id, name }) => ({ _id: id, name })),
    }),
    [people, vehicles, teams, hubs],
  )
}

/** Many schedules from a table of a spreadsheet: checked as it is pasted, and what the server refuses stays to be mended. */
export default function PasteDialog({ onClose }: { onClose: () => void }) {
  const texts = useTexts()
  const t = usePasteTexts()
  const format = useFormat()
  const { timeZone } = useWorkspace()
  const queries = useQueryClient()
  const names = useKnownNames()
  const [table, setTable] = useState(NOTHING)
  const [refused, setRefused] = useState<Refused>(new Map())
  const [created, setCreated] = useState(0)
  /** Belongs to one attempt: an answer that was lost is given again, until a row is changed. */
  const key = useRef<string | null>(null)
  const nextId = useRef(0)
  const now = useMemo(serverNow, [])
  const { rows, columns } = table
  const read = useMemo(
    () => new Map(rows.map(row => [row.id, readRow(row, { names, timeZone, now })])),
    [rows, names, timeZone, now],
  )
  useUnsaved(rows.length > 0)
  const wrong = rows.filter(({ id }) => read.get(id)?.body === null).length
  const past = rows.filter(({ id }) => read.get(id)?.isPast).length
  const errorsOf = (row: PastedRow): CellErrors => {
    const problems = Object.entries(read.get(row.id)?.problems ?? {}) as [
      ColumnName,
      keyof typeof t.problems,
    ][]
    return {
      ...refused.get(row.id),
      ...Object.fromEntries(problems.map(([at, why]) => [at, t.problems[why]])),
    }
  }

  const take = (text: string) => {
    const next = readTable(text, nextId.current)
    nextId.current += MAX_ROWS
    key.current = null
    setRefused(new Map())
    setCreated(0)
    setTable(next)
  }
  const change = (id: number, column: ColumnName, text: string) => {
    key.current = null
    setRefused(before => new Map([...before].filter(([row]) => row !== id)))
    setTable(before => ({
      ...before,
      rows: before.rows.map(row =>
        row.id === id ? { ...row, cells: { ...row.cells, [column]: text } } : row,
      ),
    }))
  }
  const remove = (id: number) => {
    key.current = null
    setTable(before => ({ ...before, rows: before.rows.filter(row => row.id !== id) }))
  }
  const create = useMutation({
    mutationFn: async () => {
      const sent = rows.flatMap(({ id }) => {
        const body = read.get(id)?.body
        return body ? [{ id, body }] : []
      })
      key.current ??= crypto.getRandomValues(new Uint32Array(4)).join('-')
      const { data } = await answered(
        api.POST('/api/v3/task/schedules/bulk', {
          params: { header: { 'Idempotency-Key': key.current } },
          body: { schedules: sent.map(({ body }) => body) },
        }),
      )
      return data.map(result => ({ ...result, id: sent[result.index]?.id ?? -1 }))
    },
    onSuccess: results => {
      key.current = null
      const done = new Set(results.filter(({ status }) => status === 'created').map(({ id }) => id))
      setCreated(count => count + done.size)
      setRefused(
        new Map(
          results
            .filter(({ status }) => status === 'failed')
            .map(({ id, errors = [] }) => [
              id,
              Object.fromEntries(
                errors.map(error => [columnAt(error.path), describeField(error, texts.problems)]),
              ),
            ]),
        ),
      )
      setTable(before => {
        const left = before.rows.filter(({ id }) => !done.has(id))
        const shown = new Set(left.length > 0 ? before.columns : [])
        return { ...before, rows: left, columns: COLUMNS.filter(name => shown.has(name)) }
      })
    },
    onSettled: () => void queries.invalidateQueries({ queryKey: ['schedules'] }),
  })
  const good = rows.length - wrong
  const onPaste = (event: ClipboardEvent) => {
    const text = event.clipboardData.getData('text/plain')
    if (!text.includes('\t') && !text.includes('\n')) return
    event.preventDefault()
    take(text)
  }
  return (
    <Modal title={t.title} onClose={onClose} wide>
      <div className="stack paste">
        <p className="hint">{t.lead(timeZone.replaceAll('_', ' '))}</p>
        {rows.length === 0 && (
          <>
            <TextField
              className="field"
              aria-label={t.paste}
              value=""
              onChange={text => take(text)}
              maxLength={MAX_PASTED}
              autoFocus
            >
              <TextArea className="paste-area" placeholder={t.placeholder} rows={5} onPaste={onPaste} />
            </TextField>
            <p className="hint">
              {t.headings}{' '}
              <Copyable value={COLUMNS.map(name => t.columns[name]).join('\t')} label={t.copyHeadings}>
                {COLUMNS.map(name => t.columns[name]).join(', ')}
              </Copyable>
            </p>
          </>
        )}
        <div role="status" className="stack-small">
          {created > 0 && <p className="paste-done">{t.created(created, format.count(created))}</p>}
          {rows.length > 0 && (
            <p>
              {t.count(rows.length, format.count(rows.length))}
              {wrong > 0 && <b className="paste-wrong"> {t.wrong(wrong, format.count(wrong))}</b>}
            </p>
          )}
          {past > 0 && <p className="hint">{t.past(past, format.count(past))}</p>}
          {table.unknown.length > 0 && rows.length > 0 && (
            <p className="hint">{t.unknownColumns(table.unknown.join(', '))}</p>
          )}
          {table.tooMany > 0 && <p className="hint">{t.tooMany(format.count(MAX_ROWS))}</p>}
        </div>
        {rows.length > 0 && (
          <PasteGrid rows={rows} columns={columns} errorsOf={errorsOf} onChange={change} onRemove={remove} />
        )}
        {create.error && <Trouble error={create.error} isDeed />}
        <div className="row-of-buttons">
          {rows.length > 0 && (
            <ActionButton onPress={() => setTable(NOTHING)} isDisabled={create.isPending}>
              {t.startOver}
            </ActionButton>
          )}
          {rows.length > 0 && (
            <ActionButton
              looks="primary"
              isPending={create.isPending}
              isDisabled={good === 0}
              onPress={() => create.mutate()}
            >
              {t.create(good, format.count(good))}
            </ActionButton>
          )}
          {rows.length === 0 && created > 0 && (
            <ActionButton looks="primary" onPress={onClose}>
              {texts.setup.done}
            </ActionButton>
          )}
        </div>
      </div>
    </Modal>
  )
}
