import { useState } from 'react'
import { useSearchParams } from 'react-router'
import { usePermissions } from '../../../api/roles.ts'
import { ChooseRecord } from '../../../parts/choose-record.tsx'
import { DayField, readDay } from '../../../parts/day-field.tsx'
import { ActionButton, Choose } from '../../../parts/parts.tsx'
import { type Column, Table } from '../../../parts/table.tsx'
import { useList } from '../../../parts/use-list.ts'
import { auditTexts as de } from '../../../texts/de/audit-log.ts'
import { auditTexts as en } from '../../../texts/en/audit-log.ts'
import { useFormat, useOwnTexts } from '../../../texts/texts.tsx'
import { askFor, type Entry, type Filter, readEntries } from './entries.ts'
import { EntryDialog } from './entry-dialog.tsx'
import { ExportButton } from './export-button.tsx'
import { useSayEntry, Who } from './words.tsx'

const TEXTS = { en, de }
/** A cell has room for this number of fields. */
const SHOWN_FIELDS = 2

/** Who has changed what: filtered by user, resource, record and days. */
export default function AuditLog() {
  const format = useFormat()
  const t = useOwnTexts(TEXTS)
  const [params, setParams] = useSearchParams()
  const [opened, setOpened] = useState<Entry | null>(null)
  const say = useSayEntry()
  const filter: Filter = {
    user: params.get('user') ?? '',
    resource: params.get('resource') ?? '',
    record: params.get('record') ?? '',
    from: readDay(params.get('from')),
    to: readDay(params.get('to')),
  }
  const narrow = (change: Partial<Filter>) => {
    const next = Object.entries({ ...filter, ...change }).filter(([, value]) => value !== '')
    setParams(Object.fromEntries(next), { replace: true })
  }
  const isNarrowed = Object.values(filter).some(Boolean)
  const asked = askFor(filter, format.startOf)
  const list = useList(['audit-log', asked], (page, signal) => readEntries({ ...page, ...asked }, signal))
  const columns: Column<Entry>[] = [
    { id: 'at', title: t.at, cell: entry => format.dateTime(entry.at) },
    { id: 'who', title: t.who, cell: entry => <Who entry={entry} /> },
    {
      id: 'did',
      title: t.did,
      cell: entry => `${say.resource(entry.resource)}: ${say.action(entry.action)}`,
    },
    { id: 'changes', title: t.changes, cell: entry => <Changes entry={entry} />, minor: true },
  ]
  return (
    <>
      <div className="toolbar filters">
        <ChooseRecord
          compact
          kind="users"
          none={t.anyone}
          label={t.who}
          value={filter.user}
          onChange={user => narrow({ user })}
        />
        <Choose
          compact
          label={t.resource}
          value={filter.resource}
          onChange={resource => narrow({ resource })}
          choices={useResources(filter.resource)}
        />
        <DayField label={t.from} day={filter.from} onChange={from => narrow({ from })} />
        <DayField label={t.to} day={filter.to} onChange={to => narrow({ to })} />
        {filter.record && (
          <ActionButton icon="close" onPress={() => narrow({ record: '' })}>
            {t.allRecords}
          </ActionButton>
        )}
        <ExportButton asked={asked} />
      </div>
      <Table
        label={t.changes}
        columns={columns}
        list={list}
        empty={isNarrowed ? t.noneFound : t.none}
        emptyHint={isNarrowed && <ActionButton onPress={() => setParams({})}>{t.showAll}</ActionButton>}
        onOpen={setOpened}
        opened={opened?._id}
      />
      {opened && (
        <EntryDialog
          entry={opened}
          onRecord={record => {
            setOpened(null)
            narrow({ record, user: '', resource: '', from: '', to: '' })
          }}
          onClose={() => setOpened(null)}
        />
      )}
    </>
  )
}

/** The resources to choose from: those of the permissions, and those that only the log names. */
function useResources(chosen: string) {
  const t = useOwnTexts(TEXTS)
  const say = useSayEntry()
  const permissions = usePermissions().data ?? []
  const names = new Set([
    ...permissions.map(({ permissionName }) => permissionName.slice(permissionName.indexOf('/') + 1)),
    'import',
    'sample-data',
    ...(chosen ? [chosen] : []),
  ])
  for (const never of ['audit', 'location']) if (never !== chosen) names.delete(never)
  const found = [...names].map(id => ({ id, name: say.resource(id) }))
  return [{ id: '', name: t.anything }, ...found.sort((one, other) => (one.name < other.name ? -1 : 1))]
}

/** The first fields that changed. */
function Changes({ entry: { changes } }: { entry: Entry }) {
  const t = useOwnTexts(TEXTS)
  const names = Object.keys(changes)
  const more = names.length - SHOWN_FIELDS
  return (
    <span className="hint">
      {names.slice(0, SHOWN_FIELDS).join(', ')}
      {more > 0 && t.more(more)}
    </span>
  )
}
