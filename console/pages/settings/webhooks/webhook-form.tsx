import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Checkbox, CheckboxGroup, Label } from 'react-aria-components'
import { answered, api } from '../../../api/client.ts'
import { useWorkspace } from '../../../api/workspace.ts'
import { Icon } from '../../../parts/icon.tsx'
import { Modal } from '../../../parts/modal.tsx'
import { ActionButton, Choose, Copyable, Field, FieldErrorText, Trouble } from '../../../parts/parts.tsx'
import { Question } from '../../../parts/question.tsx'
import { webhookTexts as de } from '../../../texts/de/webhooks.ts'
import { webhookTexts as en } from '../../../texts/en/webhooks.ts'
import { useOwnTexts } from '../../../texts/texts.tsx'
import { useRecordDraft } from '../../records/record-draft.ts'
import { RecordForm } from '../../records/record-form.tsx'
import { path, readWebhook, type Webhook } from './queries.ts'
import { Verify } from './verify.tsx'

const TEXTS = { en, de }

type Event = Webhook['events'][number]

const draftOf = (webhook: Webhook | null) => ({
  url: webhook?.url ?? '',
  description: webhook?.description ?? '',
  events: webhook?.events ?? ([] as Event[]),
  status: webhook?.status ?? ('active' as const),
})

interface Props {
  webhook: Webhook | null
  onClose: () => void
  onDeleted?: () => void
}

/** Changes a webhook, or creates one: then its secret is shown, once. */
export function WebhookForm({ webhook, onClose, onDeleted }: Props) {
  const t = useOwnTexts(TEXTS)
  const { may } = useWorkspace()
  const draft = useRecordDraft(webhook, draftOf, readWebhook)
  const { values, field } = draft
  const [secret, setSecret] = useState<string | null>(null)
  const [isAsking, setAsking] = useState(false)
  const rotate = useMutation({
    mutationFn: async (id: string) =>
      (await answered(api.POST('/api/v3/webhook/{id}/rotate-secret', path(id)))).data,
    onSettled: () => setAsking(false),
    onSuccess: rotated => setSecret(rotated.secret),
  })
  if (secret !== null) return <Secret secret={secret} onClose={onClose} />
  const save = async (now: Webhook | null) => {
    if (!now) {
      setSecret((await answered(api.POST('/api/v3/webhook', { body: values }))).data.secret)
      return
    }
    const { url, description, events, status } = now
    const body = { url, description, events, status, ...draft.changesOf(values) }
    await answered(api.PUT('/api/v3/webhook/{id}', { ...path(now._id), body }))
  }
  const remove =
    webhook && may('delete/webhook')
      ? {
          ask: t.deleteAsk(webhook.url),
          run: async () => {
            await answered(api.DELETE('/api/v3/webhook/{id}', path(webhook._id)))
            onDeleted?.()
          },
        }
      : undefined
  return (
    <RecordForm
      name="webhooks"
      title={webhook ? t.edit : t.create}
      draft={draft}
      onClose={onClose}
      save={save}
      onSaved={webhook ? undefined : () => {}}
      remove={remove}
      actions={webhook && <ActionButton onPress={() => setAsking(true)}>{t.rotate}</ActionButton>}
      asked={
        webhook &&
        isAsking && (
          <Question
            ask={t.rotateAsk}
            yes={t.rotate}
            isPending={rotate.isPending}
            onYes={() => rotate.mutate(webhook._id)}
            onNo={() => setAsking(false)}
          />
        )
      }
    >
      <Field
        label={t.url}
        {...field('url')}
        inputMode="url"
        hint={t.urlHint}
        isRequired
        autoFocus={!webhook}
      />
      <Field label={t.description} {...field('description')} />
      <EventsField value={values.events} onChange={draft.set('events')} />
      {webhook && (
        <Choose
          label={t.status}
          {...field('status')}
          onChange={id => draft.set('status')(id as Webhook['status'])}
          choices={Object.entries(t.statuses).map(([id, name]) => ({ id, name }))}
        />
      )}
      {rotate.error && <Trouble error={rotate.error} isDeed />}
    </RecordForm>
  )
}

function EventsField({ value, onChange }: { value: Event[]; onChange: (events: Event[]) => void }) {
  const t = useOwnTexts(TEXTS)
  return (
    <CheckboxGroup
      className="field checks"
      name="events"
      value={value}
      onChange={events => onChange(events as Event[])}
      isRequired
    >
      <Label>{t.events}</Label>
      <div>
        {Object.entries(t.eventNames).map(([name, words]) => (
          <Checkbox key={name} value={name} className="check">
            <span className="box">
              <Icon name="check" />
            </span>
            <span>
              {words} <code>{name}</code>
            </span>
          </Checkbox>
        ))}
      </div>
      <FieldErrorText />
    </CheckboxGroup>
  )
}

function Secret({ secret, onClose }: { secret: string; onClose: () => void }) {
  const t = useOwnTexts(TEXTS)
  return (
    <Modal title={t.secretTitle} onClose={onClose} isKept hasDone wide>
      <div className="stack">
        <p>{t.secretLead}</p>
        <Copyable value={secret} label={t.secret} autoFocus />
        <Verify />
      </div>
    </Modal>
  )
}
