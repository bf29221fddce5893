import '../../styles/pages.css'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Input, SearchField } from 'react-aria-components'
import { Link, useNavigate, useParams } from 'react-router'
import { isMissing } from '../../api/failure.ts'
import { MAX_SEARCH } from '../../api/lists.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { type PageKind, permissionTo } from '../../kinds.ts'
import { Icon } from '../../parts/icon.tsx'
import { MissingRecord } from '../../parts/missing-record.tsx'
import { Modal } from '../../parts/modal.tsx'
import { ActionButton, IconButton, Trouble } from '../../parts/parts.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { useAddress } from '../../parts/use-address.ts'
import { useDebounced } from '../../parts/use-debounced.ts'
import { orderOf, type Page, type PageQuery, type ReadPage, useList } from '../../parts/use-list.ts'
import { useTexts } from '../../texts/texts.tsx'
import { urls } from '../../urls.ts'
import { type Bulk, BulkBar } from './bulk-bar.tsx'
import { useBulkTexts } from './bulk-texts.ts'
import { type Filter, FilterFields, filtersOf } from './filter-fields.tsx'

interface Props<T, Whole, Sort extends string> {
  kind: PageKind
  /** The first one is the name, which links to the record. */
  columns: (Column<T> & { sort?: Sort })[]
  read: ReadPage<
    PageQuery & { search?: string | undefined; sort: Sort | `-${Sort}`; [filter: string]: unknown },
    Page<T>
  >
  /** The filters of the list, which stand in the address. */
  filters?: readonly Filter[]
  /** Stands beside the search. */
  actions?: ReactNode
  /** The changes that several records can get at once. */
  bulk?: Bulk<T>
  readOne: (id: string) => Promise<Whole>
  /** How often changes by others are looked for, if not every minute. */
  everyMs?: number
  /** The form of the open record, or of a new one. */
  form: (record: Whole | null, onClose: () => void) => ReactNode
}

/** A table of records with a search. The address names the open record. */
export function RecordsPage<T extends { _id: string; name: string }, Whole, Sort extends string = 'name'>(
  props: Props<T, Whole, Sort | 'name'>,
) {
  const { kind, columns, read, readOne, everyMs, form, actions, filters = [], bulk } = props
  const bulkTexts = useBulkTexts()
  const [chosen, setChosen] = useState<ReadonlyMap<string, T>>(new Map())
  const texts = useTexts()
  const { title, lead, create } = texts.kinds[kind]
  const mayCreate = useWorkspace().may(permissionTo('create', kind))
  const navigate = useNavigate()
  const { id } = useParams()
  const { params, change } = useAddress()
  const search = useDebounced(params.get('search') ?? '')
  const sort = orderOf(params.get('sort'), columns, 'name')
  const filtered = filtersOf(params, filters)
  const list = useList(
    [kind, 'list', search, sort, filtered],
    (page, signal) => read({ ...page, ...filtered, search: search || undefined, sort }, signal),
    everyMs,
  )
  const isFiltered = search !== '' || Object.keys(filtered).length > 0
  const at = (to: string) => ({ pathname: `${urls.list(kind)}${to}`, search: params.toString() })
  const go = (to: string) => void navigate(at(to))
  const [first, ...others] = columns as [Column<T>, ...Column<T>[]]
  // Rows are reached by arrow keys and opened by Enter: their links would be second tab stops.
  const linked: Column<T> = {
    ...first,
    cell: record => (
      <Link to={at(`/${record._id}`)} tabIndex={-1}>
        {first.cell(record)}
      </Link>
    ),
  }
  return (
    <main className="page" id="content">
      <title>{`${title} · ${texts.product}`}</title>
      <header className="page-head">
        <h1>{title}</h1>
        <div className="end">
          {actions}
          <SearchField
            className="search"
            aria-label={texts.map.search}
            value={params.get('search') ?? ''}
            onChange={search => change({ search })}
          >
            <Icon name="search" />
            <Input placeholder={texts.map.search} maxLength={MAX_SEARCH} />
            <IconButton icon="close" label={texts.map.clear} className="clear" />
          </SearchField>
          {/* Shown whether or not the list is empty: a button that moves when the response arrives is easily missed. */}
          {mayCreate && (
            <ActionButton looks="primary" icon="plus" onPress={() => go('/new')}>
              {create}
            </ActionButton>
          )}
        </div>
        <p className="hint">{lead}</p>
        {filters.length > 0 && <FilterFields filters={filters} params={params} onChange={change} />}
      </header>
      {bulk && chosen.size > 0 && <BulkBar kind={kind} bulk={bulk} chosen={chosen} onChosen={setChosen} />}
      <Table
        label={title}
        columns={[linked, ...others]}
        list={list}
        order={sort}
        onOrder={order => change({ sort: order === 'name' ? '' : order })}
        empty={isFiltered ? texts.records.noneFound : texts.records.none}
        emptyHint={isFiltered ? texts.records.noneFoundHint : null}
        selection={
          bulk && {
            chosen,
            onChange: setChosen,
            label: ({ name }) => bulkTexts.choose(name),
            labelOfAll: bulkTexts.chooseAll,
          }
        }
        onOpen={record => go(`/${record._id}`)}
        opened={id}
      />
      {id === 'new' && mayCreate && form(null, () => go(''))}
      {id && id !== 'new' && (
        <Opened key={id} title={title} queryKey={[kind, id]} read={() => readOne(id)} onClose={() => go('')}>
          {record => form(record, () => go(''))}
        </Opened>
      )}
    </main>
  )
}

function Opened<Whole>(props: {
  title: string
  queryKey: string[]
  read: () => Promise<Whole>
  onClose: () => void
  children: (record: Whole) => ReactNode
}) {
  const { title, queryKey, read, onClose, children } = props
  const { records: t } = useTexts()
  const found = useQuery({ queryKey, queryFn: read })
  if (found.data !== undefined) return children(found.data)
  if (!found.error) return null
  return (
    <Modal title={title} onClose={onClose}>
      <div className="stack">
        {isMissing(found.error) ? (
          <MissingRecord>{t.missing}</MissingRecord>
        ) : (
          <Trouble error={found.error} onRetry={() => void found.refetch()} />
        )}
        <div className="row-of-buttons">
          <ActionButton icon="back" onPress={onClose}>
            {t.backTo(title)}
          </ActionButton>
        </div>
      </div>
    </Modal>
  )
}
