import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { answered, api } from '../api/client.ts'
import { serverNow } from '../clock.ts'
import { Modal } from '../parts/modal.tsx'
import { ActionButton, Choose, Copyable, Trouble } from '../parts/parts.tsx'
import { linkTexts as de } from '../texts/de/links.ts'
import { linkTexts as en } from '../texts/en/links.ts'
import { useFormat, useOwnTexts } from '../texts/texts.tsx'

const TEXTS = { en, de }

const HOUR_MS = 3_600_000
const DURATIONS = { hour: HOUR_MS, shift: 8 * HOUR_MS, day: 24 * HOUR_MS, week: 168 * HOUR_MS } as const
const TRAILS = { none: 0, hour: 60, day: 1_440 } as const

interface Props {
  subject: { subjectId: string; subjectType: 'user' | 'device'; name: string }
  /** The task for whose customer the link is: it also shows where the task is, and ends with it. */
  taskId?: string
  onClose: () => void
}

/** Creates a link that shows people outside of the organization where one subject is. */
export default function ShareDialog({ subject, taskId, onClose }: Props) {
  const format = useFormat()
  const queries = useQueryClient()
  const t = useOwnTexts(TEXTS)
  const [duration, setDuration] = useState<keyof typeof DURATIONS>('shift')
  const [trail, setTrail] = useState<keyof typeof TRAILS>('hour')
  const make = useMutation({
    mutationFn: async () => {
      const body = {
        subjectId: subject.subjectId,
        subjectType: subject.subjectType,
        expiresAt: new Date(serverNow() + DURATIONS[duration]).toISOString(),
        trailMinutes: TRAILS[trail],
        ...(taskId && { taskId }),
      }
      return (await answered(api.POST('/api/v3/tracking-link', { body }))).data
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ['links'] }),
  })
  const list = <K extends string>(names: Record<K, string>) =>
    Object.entries<string>(names).map(([id, name]) => ({ id, name }))
  return (
    <Modal
      title={t.create(subject.name)}
      onClose={onClose}
      isKept={make.isPending || Boolean(make.data)}
      hasDone={Boolean(make.data)}
    >
      {make.data ? (
        <div className="stack">
          <p className="good">{t.made}</p>
          <Copyable value={make.data.url} label={t.url} autoFocus />
          <p className="hint">
            {t.expires}: {format.dateTime(make.data.expiresAt)}
          </p>
        </div>
      ) : (
        <div className="stack">
          <p className="hint">{taskId ? t.explainTask : t.explain}</p>
          <Choose
            label={t.duration}
            value={duration}
            onChange={id => setDuration(id as keyof typeof DURATIONS)}
            choices={list(t.durations)}
          />
          <Choose
            label={t.trail}
            value={trail}
            onChange={id => setTrail(id as keyof typeof TRAILS)}
            choices={list(t.trails)}
          />
          {make.error && <Trouble error={make.error} isDeed />}
          <ActionButton looks="primary" isPending={make.isPending} onPress={() => make.mutate()}>
            {t.make}
          </ActionButton>
        </div>
      )}
    </Modal>
  )
}
