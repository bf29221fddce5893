import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { answered, api } from '../../../api/client.ts'
import { useWorkspace } from '../../../api/workspace.ts'
import { Modal } from '../../../parts/modal.tsx'
import { ActionButton, Trouble } from '../../../parts/parts.tsx'
import { webhookTexts as de } from '../../../texts/de/webhooks.ts'
import { webhookTexts as en } from '../../../texts/en/webhooks.ts'
import { useFormat, useOwnTexts } from '../../../texts/texts.tsx'
import { type Delivery, nameEvent, path } from './queries.ts'

const TEXTS = { en, de }
/** An attempt takes up to 15 s. */
const ASK_EVERY_MS = 2_000

interface Props {
  delivery: Delivery
  /** Whether its webhook is active: a disabled one sends nothing again. */
  isActive: boolean
  onClose: () => void
}

/** One delivery: the request, and each attempt with the receiver's answer. */
export function DeliveryDialog({ delivery, isActive, onClose }: Props) {
  const t = useOwnTexts(TEXTS)
  const format = useFormat()
  const { may } = useWorkspace()
  const queries = useQueryClient()
  const again = useMutation({
    mutationFn: () => answered(api.POST('/api/v3/webhook-delivery/{id}/redeliver', path(delivery._id))),
    onSettled: () => queries.invalidateQueries({ queryKey: ['webhooks', delivery.webhookId] }),
  })
  const { webhookId } = delivery
  const isWaiting = delivery.status === 'pending'
  useEffect(() => {
    if (!isWaiting) return
    const ask = () => void queries.invalidateQueries({ queryKey: ['webhooks', webhookId] })
    const timer = setInterval(ask, ASK_EVERY_MS)
    return () => clearInterval(timer)
  }, [queries, webhookId, isWaiting])
  const { messageId, event, status, nextAttemptAt, payload } = delivery
  return (
    <Modal title={nameEvent(t, delivery)} onClose={onClose} wide hasDone>
      <div className="stack">
        <dl className="facts">
          <div>
            <dt>{t.status}</dt>
            <dd className={`delivery ${status}`}>{t.deliveryStatuses[status]}</dd>
          </div>
          <div>
            <dt>{t.next}</dt>
            <dd>{nextAttemptAt ? format.sinceSeconds(Date.parse(nextAttemptAt)) : '–'}</dd>
          </div>
        </dl>
        <section>
          <h3>{t.request}</h3>
          <pre
            className="payload"
            lang="en"
          >{`webhook-id: ${messageId}\nwebhook-event: ${event}\n\n${JSON.stringify(payload, null, 2)}`}</pre>
        </section>
        <ol className="attempts">
          {delivery.attempts.map((attempt, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: attempts are only added at the end
            <li key={index}>
              <h3>
                {t.attempt(index + 1)} · {format.sinceSeconds(Date.parse(attempt.at))} ·{' '}
                {t.took(format.count(attempt.durationMs))}
              </h3>
              <p lang="en" className={attempt.error === null ? 'delivery delivered' : 'delivery failed'}>
                {attempt.error ?? attempt.statusCode ?? t.noAnswer}
              </p>
              {attempt.response !== null && attempt.response !== '' && (
                <>
                  <h3>{t.response}</h3>
                  <pre className="payload">{attempt.response}</pre>
                </>
              )}
            </li>
          ))}
        </ol>
        {again.error && <Trouble error={again.error} isDeed />}
        <div className="row-of-buttons">
          {may('update/webhook') && isActive && (
            <ActionButton icon="redo" isPending={again.isPending} onPress={() => again.mutate()}>
              {t.redeliver}
            </ActionButton>
          )}
          <span role="status">{again.isSuccess && t.redelivered}</span>
        </div>
      </div>
    </Modal>
  )
}
