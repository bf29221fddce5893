import '../../styles/pages.css'
import '../../styles/data.css'
import { Suspense, useState } from 'react'
import { Input, SearchField } from 'react-aria-components'
import { NavLink, useNavigate, useParams, useSearchParams } from 'react-router'
import { lazyWithRetry } from '../../api/lazy-with-retry.ts'
import { MAX_SEARCH } from '../../api/lists.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { Icon } from '../../parts/icon.tsx'
import { MissingRecord } from '../../parts/missing-record.tsx'
import { ActionButton, IconButton, Trouble } from '../../parts/parts.tsx'
import { useAddress } from '../../parts/use-address.ts'
import { useTexts } from '../../texts/texts.tsx'
import { urls } from '../../urls.ts'
import { useDataAccess } from './access.ts'
import { type DataType, useDataTypes } from './data-queries.ts'
import { Filters, readFilters } from './filters.tsx'
import { OpenRecord } from './record-form.tsx'
import { RecordTable } from './record-table.tsx'
import { useDataTexts } from './texts.ts'
import { TypeForm } from './type-form.tsx'

const ExportDialog = lazyWithRetry(() => import('../imports/export-dialog.tsx'))

/** The records of a data type. The address names the type, the search, the filters, the order and the open record. */
export function Component() {
  const texts = useTexts()
  const t = useDataTexts()
  const { may } = useWorkspace()
  const access = useDataAccess()
  const navigate = useNavigate()
  const { id } = useParams()
  const [params] = useSearchParams()
  const { types, isRead, error } = useDataTypes()
  const seen = types.filter(({ _id }) => access.may('view', _id))
  const type = id && id !== 'new' ? seen.find(({ _id }) => _id === id) : seen[0]
  const { title, lead, create } = texts.kinds['data-types']
  const close = () => void navigate(type ? urls.record('data-types', type._id) : urls.list('data-types'))
  return (
    <main className="page" id="content">
      <title>{`${type ? `${type.name} · ` : ''}${title} · ${texts.product}`}</title>
      <header className="page-head">
        <h1>{title}</h1>
        <div className="end">
          {may('create/data-type') && (
            <ActionButton icon="plus" onPress={() => void navigate(urls.newRecord('data-types'))}>
              {create}
            </ActionButton>
          )}
        </div>
        <p className="hint">{lead}</p>
      </header>
      {error !== null && types.length === 0 && <Trouble error={error} />}
      {isRead && seen.length === 0 && (
        <div className="empty">
          <p>{t.noTypes}</p>
          <p className="hint">{t.noTypesHint}</p>
        </div>
      )}
      {seen.length > 0 && (
        <div className="data-body">
          <nav className="data-types" aria-label={t.types}>
            {seen.map(({ _id, name }) => (
              <NavLink
                key={_id}
                to={urls.record('data-types', _id)}
                className={_id === type?._id ? 'data-type active' : 'data-type'}
                aria-current={_id === type?._id ? 'page' : undefined}
              >
                {name}
              </NavLink>
            ))}
          </nav>
          {type ? (
            <Records key={type._id} type={type} />
          ) : (
            id !== 'new' && <MissingRecord>{texts.records.missing}</MissingRecord>
          )}
        </div>
      )}
      {id === 'new' && may('create/data-type') && <TypeForm type={null} onClose={close} />}
      {type && params.get('edit') === 'true' && may('update/data-type') && (
        <TypeForm key={type._id} type={type} onClose={close} />
      )}
    </main>
  )
}

function Records({ type }: { type: DataType }) {
  const texts = useTexts()
  const t = useDataTexts()
  const { may } = useWorkspace()
  const access = useDataAccess()
  const navigate = useNavigate()
  const { params, change } = useAddress()
  const [isExporting, setExporting] = useState(false)
  const open = (record: string) => change({ record })
  const record = params.get('record')
  const fields = access.fieldsOf(type)
  return (
    <section className="data-records" aria-label={type.name}>
      <div className="data-tools">
        <SearchField
          className="search"
          aria-label={t.find}
          value={params.get('search') ?? ''}
          onChange={search => change({ search })}
        >
          <Icon name="search" />
          <Input placeholder={t.find} maxLength={MAX_SEARCH} />
          <IconButton icon="close" label={texts.map.clear} className="clear" />
        </SearchField>
        <Filters fields={fields} params={params} onChange={change} />
        <div className="end">
          {may('update/data-type') && (
            <ActionButton icon="list" onPress={() => change({ edit: 'true' })}>
              {t.editType}
            </ActionButton>
          )}
          {access.may('import', type._id) && (
            <ActionButton onPress={() => void navigate(`${urls.imports}?type=${type._id}&new=true`)}>
              {t.import}
            </ActionButton>
          )}
          {access.may('export', type._id) && (
            <ActionButton icon="download" onPress={() => setExporting(true)}>
              {t.export}
            </ActionButton>
          )}
          {may('create/data') && access.may('create', type._id) && (
            <ActionButton looks="primary" icon="plus" onPress={() => open('new')}>
              {t.add}
            </ActionButton>
          )}
        </div>
      </div>
      <RecordTable
        type={type}
        fields={fields}
        params={params}
        onOpen={open}
        onOrder={sort => change({ sort })}
      />
      {record && <OpenRecord key={record} type={type} id={record} onClose={() => change({ record: '' })} />}
      {isExporting && (
        <Suspense>
          <ExportDialog
            type={{ ...type, hasPlaces: fields.some(field => field.type === 'location') }}
            filter={readFilters(params, fields)}
            isSearched={params.has('search')}
            onClose={() => setExporting(false)}
          />
        </Suspense>
      )}
    </section>
  )
}
