import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useNavigate, useParams, useSearchParams } from 'react-router'
import { isMissing } from '../../../api/failure.ts'
import { useWorkspace } from '../../../api/workspace.ts'
import { MissingRecord } from '../../../parts/missing-record.tsx'
import { ActionButton, Trouble } from '../../../parts/parts.tsx'
import { type Column, Table } from '../../../parts/table.tsx'
import { orderOf, useList } from '../../../parts/use-list.ts'
import { webhookTexts as de } from '../../../texts/de/webhooks.ts'
import { webhookTexts as en } from '../../../texts/en/webhooks.ts'
import { useFormat, useOwnTexts, useTexts } from '../../../texts/texts.tsx'
import { urls } from '../../../urls.ts'
import { Deliveries } from './deliveries.tsx'
import { type Delivery, readWebhook, readWebhooks, sendTest, type Webhook } from './queries.ts'
import { Verify } from './verify.tsx'
import { WebhookForm } from './webhook-form.tsx'

const TEXTS = { en, de }

type Sort = 'url' | 'createdAt'

/** The list of webhooks, or the deliveries of the one that the address names. */
export default function Webhooks() {
  const { id } = useParams()
  return id ? <OneWebhook key={id} id={id} /> : <AllWebhooks />
}

function AllWebhooks() {
  const t = useOwnTexts(TEXTS)
  const format = useFormat()
  const navigate = useNavigate()
  const { may } = useWorkspace()
  const [isCreating, setCreating] = useState(false)
  const [params, setParams] = useSearchParams()
  const columns: (Column<Webhook> & { sort?: Sort })[] = [
    {
      id: 'url',
      title: t.url,
      sort: 'url',
      cell: hook => (
        <Link to={urls.settingsOf('webhooks', hook._id)} tabIndex={-1}>
          {hook.url}
        </Link>
      ),
    },
    { id: 'description', title: t.description, cell: hook => hook.description || '–', minor: true },
    {
      id: 'events',
      title: t.events,
      cell: hook => hook.events.map(name => t.eventNames[name] ?? name).join(', '),
      minor: true,
    },
    { id: 'status', title: t.status, cell: hook => t.statuses[hook.status] },
    {
      id: 'created',
      title: t.created,
      sort: 'createdAt',
      cell: hook => format.dateTime(hook.createdAt),
      minor: true,
    },
  ]
  const sort = orderOf(params.get('sort'), columns, 'createdAt')
  const list = useList(['webhooks', 'list', sort], (page, signal) => readWebhooks({ ...page, sort }, signal))
  return (
    <>
      <div className="toolbar">
        {may('create/webhook') && (
          <ActionButton className="end" looks="primary" icon="plus" onPress={() => setCreating(true)}>
            {t.create}
          </ActionButton>
        )}
      </div>
      <Verify />
      <Table
        label={t.events}
        columns={columns}
        list={list}
        order={sort}
        onOrder={next => setParams({ sort: next }, { replace: true })}
        empty={t.none}
        emptyHint={t.noneHint}
        onOpen={hook => void navigate(urls.settingsOf('webhooks', hook._id))}
      />
      {isCreating && <WebhookForm webhook={null} onClose={() => setCreating(false)} />}
    </>
  )
}

function OneWebhook({ id }: { id: string }) {
  const texts = useTexts()
  const t = useOwnTexts(TEXTS)
  const navigate = useNavigate()
  const { may } = useWorkspace()
  const [isEditing, setEditing] = useState(false)
  const [opened, setOpened] = useState<Delivery | null>(null)
  const queries = useQueryClient()
  const test = useMutation({
    mutationFn: () => sendTest(id),
    onSuccess: delivery => {
      void queries.invalidateQueries({ queryKey: ['webhooks', id, 'deliveries'] })
      setOpened(delivery)
    },
  })
  const found = useQuery({ queryKey: ['webhooks', id], queryFn: () => readWebhook(id) })
  const back = () => void navigate(urls.settingsOf('webhooks'))
  const toAll = (
    <ActionButton icon="back" onPress={back}>
      {t.all}
    </ActionButton>
  )
  if (!found.data)
    return (
      <div className="stack">
        <div className="row-of-buttons">{toAll}</div>
        {isMissing(found.error) ? (
          <MissingRecord>{texts.records.missing}</MissingRecord>
        ) : (
          found.error && <Trouble error={found.error} onRetry={() => void found.refetch()} />
        )}
      </div>
    )
  const webhook = found.data
  return (
    <>
      <div className="toolbar">
        {toAll}
        <h2 className="hook-name">
          {webhook.url}
          <span className="tag">{t.statuses[webhook.status]}</span>
        </h2>
        {may('update/webhook') && (
          <div className="end row-of-buttons">
            {webhook.status === 'active' && (
              <ActionButton isPending={test.isPending} onPress={() => test.mutate()}>
                {t.test}
              </ActionButton>
            )}
            <ActionButton onPress={() => setEditing(true)}>{t.edit}</ActionButton>
          </div>
        )}
      </div>
      {test.error && <Trouble error={test.error} isDeed />}
      <Deliveries webhook={webhook} opened={opened} onOpen={setOpened} />
      {isEditing && <WebhookForm webhook={webhook} onClose={() => setEditing(false)} onDeleted={back} />}
    </>
  )
}
