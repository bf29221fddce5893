import { useRef, useState } from 'react'
import { Link, useNavigate } from 'react-router'
import { answered, api } from '../../api/client.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { ActionButton, Choose, Field } from '../../parts/parts.tsx'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { urls } from '../../urls.ts'
import { useRecordDraft } from '../records/record-draft.ts'
import { RecordForm } from '../records/record-form.tsx'
import { type DataType, recordUrl } from './data-queries.ts'
import { FieldRows } from './field-rows.tsx'
import { useDataTexts } from './texts.ts'
import { bodyOf, hasNewRules, newRow, typeValuesOf } from './type-draft.ts'

interface Conflicts {
  count: number
  ids: string[]
}

const path = (id: string) => ({ params: { path: { id } } })
const readType = async (id: string) => (await answered(api.GET('/api/v3/data-type/{id}', path(id)))).data
const KINDS = ['customer', 'product', 'employee', 'custom'] as const

/** The form of a data type with its fields, in the order in which records show them. */
export function TypeForm({ type, onClose }: { type: DataType | null; onClose: () => void }) {
  const texts = useTexts()
  const t = useDataTexts()
  const format = useFormat()
  const { may } = useWorkspace()
  const navigate = useNavigate()
  const draft = useRecordDraft(type, typeValuesOf, readType)
  const { values, field, set } = draft
  const [conflicts, setConflicts] = useState<Conflicts | null>(null)
  const created = useRef('')
  const save = async () => {
    setConflicts(null)
    const body = bodyOf(values)
    if (!type) {
      const made = await answered(api.POST('/api/v3/data-type', { body }))
      created.current = made.data._id
      return
    }
    const sent = await api.PUT('/api/v3/data-type/{id}', { ...path(type._id), body })
    const { conflicts } = (sent.error ?? {}) as { conflicts?: Conflicts }
    if (conflicts) setConflicts(conflicts)
    await answered(Promise.resolve(sent))
  }
  const remove = type &&
    may('delete/data-type') && {
      ask: t.deleteTypeAsk(type.name),
      run: () => answered(api.DELETE('/api/v3/data-type/{id}', path(type._id))),
    }
  const keys = values.fields.filter(({ key }) => key !== '')
  return (
    <RecordForm
      name="data-types"
      title={type?.name ?? texts.kinds['data-types'].create}
      draft={draft}
      onClose={() =>
        created.current ? void navigate(urls.record('data-types', created.current)) : onClose()
      }
      save={may(type ? 'update/data-type' : 'create/data-type') ? save : undefined}
      remove={remove || undefined}
      wide
    >
      <div className="two">
        <Field label={t.name} {...field('name')} isRequired autoFocus={!type} />
        <Choose
          label={t.kind}
          {...field('type')}
          onChange={id => set('type')(id as DataType['type'])}
          choices={KINDS.map(id => ({ id, name: t.kinds[id] }))}
        />
      </div>
      <FieldRows
        rows={values.fields}
        primaryKey={values.primaryKey}
        ownTypeId={type?._id ?? null}
        contradicted={row => conflicts !== null && hasNewRules(row, type)}
        onChange={rows => {
          setConflicts(null)
          set('fields')(rows)
        }}
      />
      {conflicts && (
        <div className="trouble" role="alert">
          <p>{t.conflict(format.count(conflicts.count))}</p>
          <p>
            {t.conflicts}{' '}
            {conflicts.ids.slice(0, 10).map((id, index) => (
              <Link key={id} to={recordUrl(type?._id ?? '', id)} target="_blank">
                {index + 1}{' '}
              </Link>
            ))}
          </p>
        </div>
      )}
      <div className="row-of-buttons">
        <ActionButton
          icon="plus"
          onPress={() => set('fields')([...values.fields, newRow(values.fields.length)])}
        >
          {t.addField}
        </ActionButton>
      </div>
      <Choose
        label={t.primaryKey}
        {...field('primaryKey')}
        choices={[
          { id: '', name: t.noKey },
          ...keys.map(({ key, label }) => ({ id: key, name: label || key })),
        ]}
      />
      <p className="hint">{t.keyHint}</p>
    </RecordForm>
  )
}
