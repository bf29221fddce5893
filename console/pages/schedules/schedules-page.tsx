import '../../styles/pages.css'
import '../../styles/schedules.css'
import { useQuery } from '@tanstack/react-query'
import { Suspense, useState } from 'react'
import { useSearchParams } from 'react-router'
import { answered, api } from '../../api/client.ts'
import { isMissing } from '../../api/failure.ts'
import { lazyWithRetry } from '../../api/lazy-with-retry.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { MissingRecord } from '../../parts/missing-record.tsx'
import { Modal } from '../../parts/modal.tsx'
import { ActionButton, Trouble } from '../../parts/parts.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { orderOf, useList } from '../../parts/use-list.ts'
import { useFormat, useLocale, useTexts } from '../../texts/texts.tsx'
import { type Schedule, sayRepeat } from './repeats.ts'
import { readSchedule, ScheduleForm } from './schedule-form.tsx'
import { useScheduleTexts } from './texts.ts'

const PasteDialog = lazyWithRetry(() => import('./paste-dialog.tsx'))

type Sort = 'name' | 'nextRunAt'

/** The schedules in sentences, with the next task of each. */
export function Component() {
  const texts = useTexts()
  const t = useScheduleTexts()
  const format = useFormat()
  const locale = useLocale()
  const { may } = useWorkspace()
  const [params, setParams] = useSearchParams()
  const [isPasting, setPasting] = useState(false)
  const opened = params.get('schedule')
  const open = (schedule: string) => setParams(schedule ? { schedule } : {})
  const columns: (Column<Schedule> & { sort?: Sort })[] = [
    { id: 'name', title: texts.records.name, sort: 'name', cell: one => one.name },
    { id: 'repeats', title: t.repeats, cell: one => sayRepeat(one, t, locale), whole: true },
    {
      id: 'next',
      title: t.next,
      sort: 'nextRunAt',
      cell: one => (
        <>
          {one.nextRunAt === null ? t.noneLeft : format.dateTime(one.nextRunAt)}
          {one.lastError && (
            <span className="bad">
              {' '}
              {t.trouble} <span lang="en">{one.lastError}</span>
            </span>
          )}
        </>
      ),
      whole: true,
    },
  ]
  const sort = orderOf<Sort>(params.get('sort'), columns, 'name')
  const list = useList(['schedules', 'list', sort], (page, signal) =>
    answered(api.GET('/api/v3/task/schedules', { params: { query: { ...page, sort } }, signal })),
  )
  const found = useQuery({
    queryKey: ['schedules', opened],
    enabled: opened !== null && opened !== 'new',
    queryFn: () => readSchedule(opened ?? ''),
  })
  return (
    <main className="page" id="content">
      <title>{`${t.title} · ${texts.product}`}</title>
      <header className="page-head">
        <h1>{t.title}</h1>
        <div className="end">
          {may('create/task-schedule') && (
            <ActionButton icon="list" onPress={() => setPasting(true)}>
              {t.fromTable}
            </ActionButton>
          )}
          {may('create/task-schedule') && (
            <ActionButton looks="primary" icon="plus" onPress={() => open('new')}>
              {t.create}
            </ActionButton>
          )}
        </div>
        <p className="hint">{t.lead}</p>
      </header>
      <Table
        label={t.title}
        columns={columns}
        list={list}
        empty={t.none}
        emptyHint={t.noneHint}
        order={sort}
        onOrder={sort => setParams({ sort }, { replace: true })}
        onOpen={({ _id }) => open(_id)}
        {...(opened && { opened })}
      />
      {isPasting && (
        <Suspense>
          <PasteDialog onClose={() => setPasting(false)} />
        </Suspense>
      )}
      {opened === 'new' && may('create/task-schedule') && (
        <ScheduleForm schedule={null} onClose={() => open('')} />
      )}
      {opened && found.data && <ScheduleForm key={opened} schedule={found.data} onClose={() => open('')} />}
      {opened && found.error && (
        <Modal title={t.title} onClose={() => open('')}>
          {isMissing(found.error) ? (
            <MissingRecord>{texts.records.missing}</MissingRecord>
          ) : (
            <Trouble error={found.error} onRetry={() => void found.refetch()} />
          )}
        </Modal>
      )}
    </main>
  )
}
