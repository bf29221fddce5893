import '../../styles/choose-record.css'
import { useState } from 'react'
import { Checkbox, CheckboxGroup, Label } from 'react-aria-components'
import { Link } from 'react-router'
import { RecordSearch } from '../../parts/choose-record.tsx'
import { Icon } from '../../parts/icon.tsx'
import { FieldErrorText } from '../../parts/parts.tsx'
import { recordUrl, titleOf, useDataRecord, useDataTypes, useFoundRecords } from './data-queries.ts'

/** A field for several data records: the chosen ones first, then those that the search finds. */
export function ChooseData(props: {
  label: string
  name: string
  value: string[]
  onChange: (ids: string[]) => void
}) {
  const { label, name, value, onChange } = props
  const [text, setText] = useState('')
  const found = useFoundRecords(text)
  /** Those that were chosen when the form opened: a checked one keeps its place. */
  const [first] = useState(value)
  const ids = [...new Set([...(text.trim() === '' ? first : []), ...found.map(({ _id }) => _id)])]
  return (
    <CheckboxGroup className="field checks" name={name} value={value} onChange={onChange}>
      <Label>{label}</Label>
      <RecordSearch value={text} onChange={setText} />
      <div>
        {ids.map(id => (
          <Checkbox key={id} value={id} className="check">
            <span className="box">
              <Icon name="check" />
            </span>
            <DataName id={id} />
          </Checkbox>
        ))}
      </div>
      <FieldErrorText />
    </CheckboxGroup>
  )
}

/** The name of a record, and its data type. With `isLink` it leads to the record. */
export function DataName({ id, isLink = false }: { id: string; isLink?: boolean }) {
  const { types } = useDataTypes()
  const record = useDataRecord(id)
  if (!record) return '…'
  const title = titleOf(record, types)
  return (
    <span className="data-name">
      {isLink ? <Link to={recordUrl(record.dataType._id, id)}>{title}</Link> : title}{' '}
      <small className="hint">{record.dataType.name}</small>
    </span>
  )
}
