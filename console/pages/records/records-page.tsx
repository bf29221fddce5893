import { useInfiniteQuery } from '@tanstack/react-query'
import { type ReactNode, useDeferredValue } from 'react'
import { Button, Input, SearchField } from 'react-aria-components'
import { useNavigate, useParams, useSearchParams } from 'react-router'
import { Icon } from '../../parts/icon.tsx'
import { ActionButton } from '../../parts/parts.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { useTexts } from '../../texts/texts.tsx'

interface Page<T> {
  data: T[]
  pagination: { nextCursor: string | null }
}

interface Props<T> {
  /** Of queries and of the address: `devices`. */
  name: string
  title: string
  lead: string
  create: string | null
  columns: Column<T>[]
  read: (query: { search?: string; cursor?: string; sort: 'name' }) => Promise<Page<T>>
  /** What is opened: a record by its identifier, or a new one. */
  form: (id: string | null, onClose: () => void) => ReactNode
}

/** A table of records with a search; the address says which of them is open. */
export function RecordsPage<T extends { _id: string }>(props: Props<T>) {
  const { name, title, lead, create, columns, read, form } = props
  const texts = useTexts()
  const navigate = useNavigate()
  const { id } = useParams()
  const [params, setParams] = useSearchParams()
  const search = useDeferredValue(params.get('search') ?? '')
  const list = useInfiniteQuery({
    queryKey: [name, 'list', search],
    queryFn: ({ pageParam }) => read({ search: search || undefined, cursor: pageParam, sort: 'name' }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: page => page.pagination.nextCursor ?? undefined,
    placeholderData: before => before,
  })
  const go = (to: string) => void navigate({ pathname: `/${name}${to}`, search: params.toString() })
  return (
    <main className="page" id="content">
      <title>{`${title} · ${texts.product}`}</title>
      <header className="page-head">
        <h1>{title}</h1>
        <div className="end">
          <SearchField
            className="search"
            aria-label={texts.map.search}
            value={params.get('search') ?? ''}
            onChange={text => setParams(text ? { search: text } : {}, { replace: true })}
          >
            <Icon name="search" />
            <Input placeholder={texts.map.search} />
            <Button className="button quiet square clear" aria-label={texts.map.clear}>
              <Icon name="close" />
            </Button>
          </SearchField>
          {create && (
            <ActionButton looks="primary" icon="plus" onPress={() => go('/new')}>
              {create}
            </ActionButton>
          )}
        </div>
        <p className="hint">{lead}</p>
      </header>
      <Table
        label={title}
        columns={columns}
        list={list}
        empty={search ? texts.map.none : texts.records.none}
        emptyHint={search ? texts.map.noneHint : lead}
        onOpen={record => go(`/${record._id}`)}
      />
      {id && form(id === 'new' ? null : id, () => go(''))}
    </main>
  )
}
