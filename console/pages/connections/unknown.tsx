import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { answered, api } from '../../api/client.ts'
import { Failure } from '../../api/failure.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { ActionButton, Trouble } from '../../parts/parts.tsx'
import { Question } from '../../parts/question.tsx'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { usePlaces } from '../places.ts'
import { PointMap } from '../profiles/point-map.tsx'
import { type Connection, pathTo, type UnknownReference, useUnknown } from './queries.ts'
import { useConnectionTexts } from './texts.ts'

/** The most that one request adopts. */
const AT_ONCE = 500

/** Trackers that no device is, with their last position, to be adopted. */
export function Unknown({ connection }: { connection: Connection }) {
  const texts = useTexts()
  const t = useConnectionTexts()
  const format = useFormat()
  const { may } = useWorkspace()
  const unknown = useUnknown(connection._id)
  const adoption = useAdoption(connection._id)
  const [isAsking, setAsking] = useState(false)
  const list = unknown.data ?? []
  const mayAdopt = may('update/connection') && may('create/device')
  const points = pointsOf(list)
  const { places, mutation, done } = { places: usePlaces(points), ...adoption }
  const all = format.count(list.length)
  const adopt = (references: string[]) => {
    setAsking(false)
    mutation.mutate(references)
  }
  return (
    <>
      {unknown.error && <Trouble error={unknown.error} onRetry={() => void unknown.refetch()} />}
      {mutation.error && <Trouble error={mutation.error} isDeed />}
      <p role="status" className={mutation.data ? 'good' : 'unseen'}>
        {mutation.data &&
          t.adopted(
            mutation.data.devices,
            format.count(mutation.data.devices),
            format.count(mutation.data.points),
          )}
      </p>
      {mutation.isPending && mutation.variables.length > 1 && (
        <p className="hint">{t.adopting(format.count(done), format.count(mutation.variables.length))}</p>
      )}
      {isAsking && (
        <Question
          ask={t.adoptAllAsk(all)}
          yes={t.adoptAll(all)}
          onYes={() => adopt(list.map(({ reference }) => reference))}
          onNo={() => setAsking(false)}
        />
      )}
      {unknown.data && list.length === 0 && (
        <div className="empty">
          <p>{t.noUnknown}</p>
          <p className="hint">{t.noUnknownHint}</p>
        </div>
      )}
      {mayAdopt && list.length > 1 && !isAsking && (
        <p>
          <ActionButton looks="primary" isPending={mutation.isPending} onPress={() => setAsking(true)}>
            {t.adoptAll(all)}
          </ActionButton>
        </p>
      )}
      {!unknown.data && !unknown.error && <p className="hint">{texts.loading}</p>}
      {points.length > 0 && <PointMap points={points} label={t.map} unseen={t.noMap} />}
      <ul className="unknown-trackers" aria-label={t.sections.unknown}>
        {list.map(one => (
          <li key={one.reference}>
            <div>
              <strong>{one.reference}</strong>
              <p className="hint">
                {t.messages}: {format.count(one.messages)} · {t.lastSeen}:{' '}
                {format.ago(Date.parse(one.lastMessageAt))}
              </p>
              <LastPoint point={one.lastPoint} place={one.lastPoint && places(one.lastPoint)?.name} />
            </div>
            {mayAdopt && (
              <ActionButton
                aria-label={t.adoptOne(one.reference)}
                isPending={mutation.isPending}
                onPress={() => adopt([one.reference])}
              >
                {t.adopt}
              </ActionButton>
            )}
          </li>
        ))}
      </ul>
    </>
  )
}

const pointsOf = (list: readonly UnknownReference[]) =>
  list.flatMap(({ lastPoint }) => (lastPoint ? [lastPoint] : []))

const DIGITS = 5

function LastPoint({
  point,
  place,
}: {
  point: UnknownReference['lastPoint']
  place: string | null | undefined
}) {
  const t = useConnectionTexts()
  if (!point) return <p className="hint">{t.noPoint}</p>
  return (
    <p>
      {place && `${place} · `}
      <span className="coordinates">
        {point.lat.toFixed(DIGITS)}, {point.lng.toFixed(DIGITS)}
      </span>
    </p>
  )
}

/** Whether no message is kept any more of all the references of a request. */
const isNoneKept = (error: unknown) =>
  error instanceof Failure && error.status === 400 && error.fields['references.0']?.code === 'not-found'

/** Adopts references, as many in one request as it takes. */
function useAdoption(id: string) {
  const queries = useQueryClient()
  const [done, setDone] = useState(0)
  const mutation = useMutation({
    mutationFn: async (references: string[]) => {
      setDone(0)
      let devices = 0
      let points = 0
      let refusal: unknown
      for (let at = 0; at < references.length; at += AT_ONCE) {
        const body = { references: references.slice(at, at + AT_ONCE) }
        try {
          const { data } = await answered(api.POST('/api/v3/connection/{id}/adopt', { ...pathTo(id), body }))
          devices += data.length
          for (const one of data) points += one.points
        } catch (error) {
          if (!isNoneKept(error)) throw error
          refusal = error
        }
        setDone(at + body.references.length)
      }
      if (devices === 0 && refusal) throw refusal
      return { devices, points }
    },
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: ['devices'] })
      return queries.invalidateQueries({ queryKey: ['connections', id] })
    },
  })
  return { mutation, done }
}
