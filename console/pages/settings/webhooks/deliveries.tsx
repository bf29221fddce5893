import { ToggleButton, ToggleButtonGroup } from 'react-aria-components'
import { useSearchParams } from 'react-router'
import { type Column, Table } from '../../../parts/table.tsx'
import { useList } from '../../../parts/use-list.ts'
import { webhookTexts as de } from '../../../texts/de/webhooks.ts'
import { webhookTexts as en } from '../../../texts/en/webhooks.ts'
import { useFormat, useOwnTexts } from '../../../texts/texts.tsx'
import { DeliveryDialog } from './delivery-dialog.tsx'
import { type Delivery, nameEvent, readDeliveries, type Webhook } from './queries.ts'

const TEXTS = { en, de }

type Status = Delivery['status']

/** The deliveries of a webhook, with those that wait, and one of them in a dialog. */
export function Deliveries({
  webhook,
  opened,
  onOpen,
}: {
  webhook: Webhook
  opened: Delivery | null
  onOpen: (delivery: Delivery | null) => void
}) {
  const t = useOwnTexts(TEXTS)
  const format = useFormat()
  const [params, setParams] = useSearchParams()
  const asked = params.get('status') ?? ''
  const status = Object.hasOwn(t.deliveryStatuses, asked) ? (asked as Status) : undefined
  const list = useList(['webhooks', webhook._id, 'deliveries', status], (page, signal) =>
    readDeliveries(webhook._id, { ...page, ...(status && { status }) }, signal),
  )
  const columns: Column<Delivery>[] = [
    { id: 'created', title: t.created, cell: one => format.dateTime(one.createdAt) },
    { id: 'event', title: t.event, cell: one => nameEvent(t, one) },
    {
      id: 'status',
      title: t.status,
      cell: one => <span className={`delivery ${one.status}`}>{t.deliveryStatuses[one.status]}</span>,
    },
    { id: 'attempts', title: t.attempts, cell: one => format.count(one.attempts.length), minor: true },
    { id: 'answer', title: t.answer, cell: one => <LastAnswer delivery={one} />, minor: true },
    {
      id: 'next',
      title: t.next,
      cell: one => (one.nextAttemptAt ? format.dateTime(one.nextAttemptAt) : '–'),
      minor: true,
    },
  ]
  // The list is read again while the dialog is open: it shows the newest attempts.
  const fresh = opened && list.data?.pages.flatMap(page => page.data).find(({ _id }) => _id === opened._id)
  return (
    <>
      <ToggleButtonGroup
        className="switch reasons"
        aria-label={t.status}
        selectionMode="single"
        disallowEmptySelection
        selectedKeys={[status ?? 'all']}
        onSelectionChange={([chosen]) =>
          setParams(chosen === 'all' ? {} : { status: String(chosen) }, { replace: true })
        }
      >
        <ToggleButton id="all">{t.anyStatus}</ToggleButton>
        {Object.entries(t.deliveryStatuses).map(([name, words]) => (
          <ToggleButton key={name} id={name}>
            {words}
          </ToggleButton>
        ))}
      </ToggleButtonGroup>
      <Table
        label={t.deliveriesOf(webhook.url)}
        columns={columns}
        list={list}
        empty={status ? t.noneOfStatus : t.noDeliveries}
        emptyHint={null}
        onOpen={onOpen}
        opened={opened?._id}
      />
      {opened && (
        <DeliveryDialog
          delivery={fresh ?? opened}
          isActive={webhook.status === 'active'}
          onClose={() => onOpen(null)}
        />
      )}
    </>
  )
}

function LastAnswer({ delivery: { attempts } }: { delivery: Delivery }) {
  const t = useOwnTexts(TEXTS)
  const last = attempts.at(-1)
  if (!last) return '–'
  return <span className="hint">{last.error ?? last.statusCode ?? t.noAnswer}</span>
}
