import '../styles/pages.css'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { ToggleButton, ToggleButtonGroup } from 'react-aria-components'
import { useSearchParams } from 'react-router'
import { answered, api } from '../api/client.ts'
import { ChooseRecord } from '../parts/choose-record.tsx'
import { ActionButton } from '../parts/parts.tsx'
import { TABLE_EVERY_MS, Table } from '../parts/table.tsx'
import { useRecords } from '../shell/records.ts'
import { useFormat, useTexts } from '../texts/texts.tsx'

/** What a device sent that is no position, and why: the first thing to look at when something does not appear. */
export function Component() {
  const texts = useTexts()
  const format = useFormat()
  const [first] = useRecords('devices', '')
  const [params, setParams] = useSearchParams()
  const deviceId = params.get('device') ?? first?.id ?? ''
  const reason = params.get('reason') ?? 'all'
  const t = texts.rejections
  const list = useInfiniteQuery({
    queryKey: ['rejections', deviceId],
    meta: { everyMs: TABLE_EVERY_MS },
    enabled: deviceId !== '',
    queryFn: ({ pageParam }) =>
      answered(
        api.GET('/api/v3/device/{id}/rejections', {
          params: { path: { id: deviceId }, query: { cursor: pageParam } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: page => page.pagination.nextCursor ?? undefined,
  })
  const counts = Object.entries(list.data?.pages[0]?.counts ?? {})
  const shown = {
    ...list,
    data: list.data && {
      ...list.data,
      pages: list.data.pages.map(page => ({
        ...page,
        data: page.data.filter(one => reason === 'all' || one.reason === reason),
      })),
    },
  } as typeof list
  const isNone = shown.data?.pages.every(page => page.data.length === 0)
  const { hasNextPage, isFetching, isError, fetchNextPage } = list
  // Of a reason that is rare, or of long ago, the first pages may have none.
  useEffect(() => {
    if (isNone && hasNextPage && !isFetching && !isError) void fetchNextPage()
  }, [isNone, hasNextPage, isFetching, isError, fetchNextPage])
  const reasonText = (name: string) => t.reasons[name as keyof typeof t.reasons] ?? name
  return (
    <main className="page" id="content">
      <title>{`${t.title} · ${texts.product}`}</title>
      <header className="page-head">
        <h1>{t.title}</h1>
        <div className="end">
          <ChooseRecord
            compact
            kind="devices"
            label={texts.subject.device}
            value={deviceId}
            onChange={device => setParams({ device })}
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
            onSelectionChange={keys => {
              const [chosen] = [...keys].map(String)
              setParams({ device: deviceId, ...(chosen !== 'all' && { reason: chosen as string }) })
            }}
          >
            <ToggleButton id="all">{texts.map.all}</ToggleButton>
            {counts.map(([name, count]) => (
              <ToggleButton key={name} id={name}>
                {reasonText(name)} {format.count(count ?? 0)}
              </ToggleButton>
            ))}
          </ToggleButtonGroup>
        )}
      </header>
      {deviceId === '' ? (
        <div className="empty">
          <p>{t.noDevice}</p>
        </div>
      ) : (
        <Table
          label={t.title}
          list={shown}
          empty={reason === 'all' ? t.none : t.noneOf(reasonText(reason))}
          emptyHint={
            reason === 'all' ? (
              t.noneHint
            ) : (
              <ActionButton onPress={() => setParams({ device: deviceId })}>{t.showAll}</ActionButton>
            )
          }
          columns={[
            { id: 'received', title: t.received, cell: one => format.dateTime(one.receivedAt) },
            { id: 'reason', title: t.reason, cell: one => reasonText(one.reason), minor: true },
            { id: 'message', title: t.message, cell: one => one.message, whole: true },
            {
              id: 'payload',
              title: t.payload,
              cell: one => <code title={one.payload ?? ''}>{one.payload ?? '–'}</code>,
              minor: true,
            },
          ]}
        />
      )}
    </main>
  )
}
