import { useQuery } from '@tanstack/react-query'
import { Link } from 'react-router'
import { answered, api } from '../../api/client.ts'
import { isMissing } from '../../api/failure.ts'
import { MissingRecord } from '../../parts/missing-record.tsx'
import { Modal } from '../../parts/modal.tsx'
import { Trouble } from '../../parts/parts.tsx'
import { useTexts } from '../../texts/texts.tsx'
import { useRecordDraft } from '../records/record-draft.ts'
import { RecordForm } from '../records/record-form.tsx'
import { useDataAccess } from './access.ts'
import {
  type DataRecord,
  type DataType,
  type FieldDefinition,
  readRecord,
  recordUrl,
  titleOf,
  useDataTypes,
} from './data-queries.ts'
import { FieldInput } from './field-input.tsx'
import { draftOf, type FieldDraft, readDraft } from './field-value.ts'
import { useDataTexts } from './texts.ts'

interface Props {
  type: DataType
  /** `new` for a new record. */
  id: string
  onClose: () => void
}

/** The form of a record, once it is read. */
export function OpenRecord({ type, id, onClose }: Props) {
  const { records } = useTexts()
  const found = useQuery({ queryKey: ['data', id], enabled: id !== 'new', queryFn: () => readRecord(id) })
  if (id === 'new') return <Form type={type} record={null} onClose={onClose} />
  if (found.data) return <Form type={type} record={found.data} onClose={onClose} />
  if (!found.error) return null
  return (
    <Modal title={type.name} onClose={onClose}>
      {isMissing(found.error) ? (
        <MissingRecord>{records.missing}</MissingRecord>
      ) : (
        <Trouble error={found.error} onRetry={() => void found.refetch()} />
      )}
    </Modal>
  )
}

const PREFIX = 'data.'
type Values = { [name: string]: FieldDraft }

const valuesIn =
  (fields: readonly FieldDefinition[]) =>
  (record: DataRecord | null): Values =>
    Object.fromEntries(
      fields.map(field => [
        PREFIX + field.key,
        draftOf(field, record ? record.data[field.key] : field.default),
      ]),
    )

const path = (id: string) => ({ params: { path: { id } } })

function Form({ type, record, onClose }: { type: DataType; record: DataRecord | null; onClose: () => void }) {
  const t = useDataTexts()
  const { types } = useDataTypes()
  const access = useDataAccess()
  const fields = access.fieldsOf(type)
  const draft = useRecordDraft(record, valuesIn(fields), readRecord)
  const { values, set } = draft
  const save = async () => {
    const all = Object.fromEntries(
      fields.map(field => [PREFIX + field.key, readDraft(field, values[PREFIX + field.key] ?? '')]),
    )
    const given = record ? draft.changesOf(all) : all
    const data = Object.fromEntries(
      Object.entries(given)
        .filter(([, value]) => record !== null || value !== null)
        .map(([name, value]) => [name.slice(PREFIX.length), value]),
    )
    if (record) return answered(api.PATCH('/api/v3/data/{id}', { ...path(record._id), body: { data } }))
    return answered(api.POST('/api/v3/data', { body: { dataTypeId: type._id, data } }))
  }
  const title = record ? titleOf(record, types) : t.addRecord(type.name)
  const remove = record &&
    access.may('delete', type._id) && {
      ask: t.deleteAsk(title),
      run: () => answered(api.DELETE('/api/v3/data/{id}', path(record._id))),
    }
  return (
    <RecordForm
      name="data"
      title={title}
      draft={draft}
      onClose={onClose}
      save={access.may(record ? 'update' : 'create', type._id) ? save : undefined}
      remove={remove || undefined}
    >
      {fields.map(field => {
        const name = PREFIX + field.key
        return (
          <div key={field.key} className="field-with-link">
            <FieldInput field={field} name={name} value={values[name] ?? ''} onChange={set(name)} />
            {field.type === 'reference' && field.dataTypeId && values[name] !== '' && (
              <Link to={recordUrl(field.dataTypeId, String(values[name]))}>{t.reference}</Link>
            )}
          </div>
        )
      })}
    </RecordForm>
  )
}
