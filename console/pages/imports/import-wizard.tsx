import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'react-router'
import { useWorkspace } from '../../api/workspace.ts'
import { ActionButton, Choose, Trouble } from '../../parts/parts.tsx'
import { useUnsaved } from '../../parts/unsaved.ts'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { urls } from '../../urls.ts'
import { useDataAccess } from '../data/access.ts'
import { useDataTypes } from '../data/data-queries.ts'
import { DropFile } from './drop-file.tsx'
import {
  type ImportRecord,
  isEnded,
  type Upload,
  upload,
  useImport,
  useImportConfigs,
} from './import-queries.ts'
import { complete, type Mapping, propose } from './mapping.ts'
import { MappingTable } from './mapping-table.tsx'
import { Outcome } from './outcome.tsx'
import { type Preview, readPreview } from './preview.ts'
import { SaveConfig } from './save-config.tsx'
import { useImportTexts } from './texts.ts'

type Mode = ImportRecord['mode']

/** A file on its way in: it is checked as soon as it is chosen, and imported when the check says what somebody wants. */
export function ImportWizard({ typeId, onDone }: { typeId: string; onDone: () => void }) {
  const t = useImportTexts()
  const format = useFormat()
  const { may } = useWorkspace()
  const access = useDataAccess()
  const read = useDataTypes()
  const types = read.types.filter(({ _id }) => access.may('import', _id))
  const [chosenType, setChosenType] = useState(typeId)
  const type = types.find(({ _id }) => _id === chosenType) ?? types[0]
  const configs = useImportConfigs(type?._id ?? '')
  const [configId, setConfigId] = useState('')
  const [mode, setMode] = useState<Mode>('create')
  const [file, setFile] = useState<File | null>(null)
  const [preview, setPreview] = useState<Preview | null>(null)
  const [mapping, setMapping] = useState<Mapping | null>(null)
  /** Whether the mapping or the mode has changed since the last check. */
  const [isChanged, setChanged] = useState(false)
  const [recordId, setRecordId] = useState<string | null>(null)
  const record = useImport(recordId).data
  const fields = type ? access.fieldsOf(type) : []
  const sending = useMutation({
    mutationFn: (sent: Upload) => upload(sent),
    onSuccess: (made, sent) => {
      setRecordId(made._id)
      setChanged(false)
      // The server has proposed it, or read it from the saved one.
      if (!sent.mapping) setMapping(made.mapping)
    },
  })
  const isImported = record !== undefined && !record.dryRun
  useUnsaved(file !== null && !isImported)

  const send = (dryRun: boolean, given: { file: File; mapping: Mapping | null; configId?: string }) => {
    if (!type) return
    sending.mutate({
      file: given.file,
      dataTypeId: type._id,
      mapping: given.mapping && complete(given.mapping),
      importConfigId: given.configId ?? configId,
      mode,
      dryRun,
    })
  }
  const take = async (next: File) => {
    setFile(next)
    setRecordId(null)
    const seen = await readPreview(next)
    setPreview(seen)
    setMapping(seen && configId === '' ? propose(seen.headings, fields) : null)
    send(true, { file: next, mapping: null })
  }
  const change = (next: Mapping) => {
    setMapping(next)
    setChanged(true)
  }
  const unmapped = fields.filter(
    ({ key, required }) => required && mapping && !Object.hasOwn(complete(mapping), key),
  )
  const isBusy = sending.isPending || (record !== undefined && !isEnded(record))
  const checked = record?.dryRun && isEnded(record) && !isChanged ? record : null
  const good = checked ? checked.created + checked.updated + checked.unchanged : 0

  if (!type) return read.error ? <Trouble error={read.error} /> : read.isRead && <NoType />
  return (
    <div className="stack import">
      <div className="import-choices">
        <Choose
          label={t.type}
          value={type._id}
          onChange={id => {
            setChosenType(id)
            setConfigId('')
            setFile(null)
            setRecordId(null)
          }}
          choices={types.map(({ _id, name }) => ({ id: _id, name }))}
        />
        {configs.length > 0 && (
          <Choose
            label={t.config}
            value={configId}
            onChange={id => {
              setConfigId(id)
              if (file) send(true, { file, mapping: null, configId: id })
            }}
            choices={[{ id: '', name: t.noConfig }, ...configs.map(({ _id, name }) => ({ id: _id, name }))]}
          />
        )}
        {type.primaryKey && (
          <Choose
            label={t.mode}
            value={mode}
            onChange={id => {
              setMode(id as Mode)
              setChanged(true)
            }}
            choices={(['create', 'upsert'] as const).map(id => ({ id, name: t.modes[id] }))}
          />
        )}
      </div>
      {configs
        .filter(({ _id, typeChanges }) => _id === configId && typeChanges.length > 0)
        .map(({ _id, typeChanges }) => (
          <p key={_id} className="note">
            {t.typeChanged} <span lang="en">{typeChanges.map(({ message }) => message).join(' ')}</span>
          </p>
        ))}
      {!isImported && <DropFile file={file} isBusy={isBusy} onFile={next => void take(next)} />}
      {sending.error && <Trouble error={sending.error} isDeed />}
      {file && !isImported && (
        <section className="stack" aria-label={t.mapping}>
          <h2>{t.mapping}</h2>
          <p className="hint">{preview ? t.mappingHint : t.noPreview}</p>
          {preview && mapping && (
            <MappingTable
              preview={preview}
              fields={fields}
              mapping={mapping}
              failures={checked?.failures ?? []}
              onChange={change}
            />
          )}
          {unmapped.length > 0 && (
            <p className="note">{t.unmapped(unmapped.map(({ label }) => label).join(', '))}</p>
          )}
        </section>
      )}
      {record && !(record.dryRun && isChanged) && (
        <Outcome key={record._id} record={record} onMended={setRecordId} />
      )}
      <div className="row-of-buttons">
        {file && !isImported && (isChanged || sending.error) && (
          <ActionButton looks="primary" isPending={isBusy} onPress={() => send(true, { file, mapping })}>
            {isBusy ? t.checking : t.check}
          </ActionButton>
        )}
        {file && checked && good > 0 && (
          <ActionButton looks="primary" isPending={isBusy} onPress={() => send(false, { file, mapping })}>
            {t.importCount(format.count(good))}
          </ActionButton>
        )}
        <ActionButton onPress={onDone}>{isImported ? t.done : t.imports}</ActionButton>
      </div>
      {mapping && type && may('create/import-config') && record?.error === null && (
        <SaveConfig dataTypeId={type._id} mapping={complete(mapping)} />
      )}
    </div>
  )
}

/** Records need a type before a file can bring any. */
function NoType() {
  const t = useImportTexts()
  const { kinds } = useTexts()
  const { may } = useWorkspace()
  return (
    <div className="empty">
      <p>{t.noTypes}</p>
      <p className="hint">{t.noTypesHint}</p>
      {may('create/data-type') && <Link to={urls.newRecord('data-types')}>{kinds['data-types'].create}</Link>}
    </div>
  )
}
