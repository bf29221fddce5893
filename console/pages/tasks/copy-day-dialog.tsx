import { type DateValue, parseDate } from '@internationalized/date'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { Checkbox, Form } from 'react-aria-components'
import { useWorkspace } from '../../api/workspace.ts'
import { DateChoice } from '../../parts/date-picker.tsx'
import { isDay, stepDay } from '../../parts/days.ts'
import { Icon } from '../../parts/icon.tsx'
import { Modal } from '../../parts/modal.tsx'
import { ActionButton, Trouble } from '../../parts/parts.tsx'
import { offerUndo } from '../../parts/undo.ts'
import { dayCopyTexts as de } from '../../texts/de/day-copy.ts'
import { dayCopyTexts as en } from '../../texts/en/day-copy.ts'
import { useFormat, useOwnTexts } from '../../texts/texts.tsx'
import { type Copy, createCopies, deleteTasks } from './copy-tasks.ts'
import { copyOf, daysBetween, worthCopying } from './day-copy.ts'
import type { Task } from './task.ts'
import { readDay } from './task-queries.ts'

const TEXTS = { en, de }
/** Each copy is a request of its own: this many take some seconds. */
const MAX_COPIES = 500

interface Props {
  day: string
  teamId: string
  tasks: readonly Task[]
  onClose: () => void
  onCopied: (day: string) => void
}

/** Copies the tasks of a day to another one, after a look at how many they are. */
export default function CopyDayDialog({ day, teamId, tasks, onClose, onCopied }: Props) {
  const t = useOwnTexts(TEXTS)
  const format = useFormat()
  const { may, timeZone } = useWorkspace()
  const queries = useQueryClient()
  const [to, setTo] = useState(stepDay(day, 1))
  const [withPeople, setWithPeople] = useState(true)
  const [done, setDone] = useState(0)
  /** The copies that were begun: another attempt sends those that failed, with the keys that they had. */
  const begun = useRef<{ waiting: Copy[]; ids: string[] } | null>(null)
  /** While a year is typed, it is the year 2 at first. */
  const [typed, setTyped] = useState<DateValue | null>(null)
  const type = (next: DateValue | null) => {
    const date = next?.toString() ?? ''
    setTyped(isDay(date) ? null : next)
    if (isDay(date)) setTo(date)
  }
  const window = { from: format.startOf(to), to: format.startOf(stepDay(to, 1)) }
  const { data: planned } = useQuery({
    queryKey: ['tasks', 'planned', to, teamId],
    queryFn: ({ signal }) => readDay(window.from, window.to, teamId, signal),
  })
  const there = planned?.tasks.length ?? 0
  const chosen = worthCopying(tasks)
  const copied = chosen.slice(0, MAX_COPIES)
  const leftOut = tasks.length - chosen.length
  const name = format.longDate(to)
  const copy = useMutation({
    mutationFn: async () => {
      const run = crypto.getRandomValues(new Uint32Array(4)).join('-')
      const days = daysBetween(day, to)
      begun.current ??= {
        ids: [],
        waiting: copied.map(task => ({
          key: `${run}-${task._id}`,
          body: copyOf(task, { days, timeZone, withPeople }),
        })),
      }
      const { ids, failed, error } = await createCopies(begun.current.waiting, () =>
        setDone(count => count + 1),
      )
      begun.current = { ids: [...begun.current.ids, ...ids], waiting: failed }
      offer(begun.current.ids)
      if (error !== null) throw error
    },
    onSettled: () => void queries.invalidateQueries({ queryKey: ['tasks'] }),
    onSuccess: () => onCopied(to),
  })
  const offer = (ids: readonly string[]) => {
    if (ids.length > 0 && may('delete/task'))
      offerUndo({ text: t.copied(ids.length, format.count(ids.length), name), undo: () => deleteTasks(ids) })
  }
  const isBegun = begun.current !== null
  return (
    <Modal title={t.title(format.longDate(day))} onClose={onClose}>
      <Form
        className="stack"
        onSubmit={event => {
          event.preventDefault()
          copy.mutate()
        }}
      >
        <div className="field">
          <span aria-hidden="true">{t.to}</span>
          <DateChoice
            aria-label={t.to}
            value={typed ?? parseDate(to)}
            isDisabled={isBegun}
            onChange={type}
            onBlur={() => setTyped(null)}
          />
        </div>
        <Checkbox className="check" isSelected={withPeople} isDisabled={isBegun} onChange={setWithPeople}>
          <span className="box">
            <Icon name="check" />
          </span>
          {t.withPeople}
        </Checkbox>
        <div className="stack-small" role="status">
          <p>
            {copy.isPending || isBegun
              ? t.progress(format.count(done), format.count(copied.length))
              : t.preview(copied.length, format.count(copied.length), name)}
          </p>
          {leftOut > 0 && <p className="hint">{t.leftOut(leftOut, format.count(leftOut))}</p>}
          {chosen.length > MAX_COPIES && <p className="hint">{t.tooMany(format.count(MAX_COPIES))}</p>}
          {there > 0 && !isBegun && <p className="hint">{t.there(there, format.count(there), name)}</p>}
          <p className="hint">{t.windows(timeZone.replaceAll('_', ' '))}</p>
        </div>
        {copy.error && (
          <>
            <p className="hint">{t.notAll}</p>
            <Trouble error={copy.error} isDeed />
          </>
        )}
        <div className="row-of-buttons">
          <ActionButton
            looks="primary"
            type="submit"
            isPending={copy.isPending}
            isDisabled={copied.length === 0 || to === day}
          >
            {copy.error ? t.again : t.copy(copied.length, format.count(copied.length))}
          </ActionButton>
        </div>
      </Form>
    </Modal>
  )
}
