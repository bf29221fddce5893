import '../styles/pages.css'
import { ToggleButton, ToggleButtonGroup } from 'react-aria-components'
import { Link, useSearchParams } from 'react-router'
import { answered, api } from '../api/client.ts'
import { ChooseRecord } from '../parts/choose-record.tsx'
import { ActionButton } from '../parts/parts.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { type PageQuery, useList } from '../parts/use-list.ts'
import { rejectionTexts as de } from '../texts/de/rejections.ts'
import { rejectionTexts as en } from '../texts/en/rejections.ts'
import { useFormat, useOwnTexts, useTexts } from '../texts/texts.tsx'
import { urls } from '../urls.ts'

const TEXTS = { en, de }
type Reason = keyof typeof en.reasons
type Rejection = Awaited<ReturnType<typeof readOf>>['data'][number] &
  Partial<Awaited<ReturnType<typeof readAll>>['data'][number]>

type Query = PageQuery & { reason?: Reason | undefined }

const readAll = (query: Query, signal: AbortSignal) =>
  answered(api.GET('/api/v3/rejections', { params: { query }, signal }))

const readOf = (id: string, query: Query, signal: AbortSignal) =>
  answered(api.GET('/api/v3/device/{id}/rejections', { params: { path: { id }, query }, signal }))

/** The rejected messages with their reasons: the first thing to look at when a device does not appear. */
export function Component() {
  const texts = useTexts()
  const format = useFormat()
  const [params, setParams] = useSearchParams()
  const deviceId = params.get('device') ?? ''
  const t = useOwnTexts(TEXTS)
  const asked = params.get('reason') ?? ''
  const reason = Object.hasOwn(t.reasons, asked) ? (asked as Reason) : 'all'
  const list = useList(['rejections', deviceId, reason], (page, signal) => {
    const query = { ...page, reason: reason === 'all' ? undefined : reason }
    return deviceId === '' ? readAll(query, signal) : readOf(deviceId, query, signal)
  })
  const counts = Object.entries(list.data?.pages[0]?.counts ?? {}).sort(([, one], [, other]) => other - one)
  const show = (device: string, reason: string) =>
    setParams({ ...(device && { device }), ...(reason !== 'all' && { reason }) })
  const reasonText = (name: string) => t.reasons[name as Reason] ?? name
  const subject: Column<Rejection> = {
    id: 'subject',
    title: texts.subject.device,
    cell: ({ subjectId = '', subjectType, subjectName }) =>
      subjectType === 'device' ? <Link to={urls.rejectionsOf(subjectId)}>{subjectName}</Link> : subjectName,
  }
  return (
    <main className="page" id="content">
      <title>{`${t.title} · ${texts.product}`}</title>
      <header className="page-head">
        <h1>{t.title}</h1>
        <div className="end">
          <ChooseRecord
            compact
            kind="devices"
            none={t.allDevices}
            label={texts.subject.device}
            value={deviceId}
            onChange={device => show(device, reason)}
          />
        </div>
        <p className="hint">{t.lead}</p>
        {counts.length > 0 && (
          <ToggleButtonGroup
            className="switch reasons"
            aria-label={t.reason}
            selectionMode="single"
            disallowEmptySelection
            selectedKeys={[reason]}
            onSelectionChange={([chosen]) => show(deviceId, String(chosen))}
          >
            <ToggleButton id="all">{texts.map.all}</ToggleButton>
            {counts.map(([name, count]) => (
              <ToggleButton key={name} id={name}>
                {reasonText(name)} {format.count(count)}
              </ToggleButton>
            ))}
          </ToggleButtonGroup>
        )}
      </header>
      <Table<Rejection>
        label={t.title}
        list={list}
        empty={reason === 'all' ? t.none : t.noneOf(reasonText(reason))}
        emptyHint={
          reason === 'all' ? (
            t.noneHint
          ) : (
            <ActionButton onPress={() => show(deviceId, 'all')}>{t.showAll}</ActionButton>
          )
        }
        columns={[
          { id: 'received', title: t.received, cell: one => format.dateTime(one.receivedAt), whole: true },
          ...(deviceId === '' ? [subject] : []),
          { id: 'reason', title: t.reason, cell: one => reasonText(one.reason), whole: true, minor: true },
          {
            id: 'message',
            title: t.message,
            cell: one => (
              <>
                <span lang="en">{one.message}</span> {t.advice[one.reason]}
              </>
            ),
            whole: true,
          },
          {
            id: 'payload',
            title: t.payload,
            cell: one => <code title={one.payload ?? ''}>{one.payload ?? '–'}</code>,
            minor: true,
          },
        ]}
      />
    </main>
  )
}
