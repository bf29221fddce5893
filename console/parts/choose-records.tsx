import '../styles/choose-record.css'
import { useState } from 'react'
import { Checkbox, CheckboxGroup, Label } from 'react-aria-components'
import type { KindName } from '../kinds.ts'
import { RecordName, RecordSearch } from './choose-record.tsx'
import { Icon } from './icon.tsx'
import { FieldErrorText } from './parts.tsx'
import { useMatching } from './records.ts'

/** A field for several records of a kind: the chosen ones first, then those that the search finds. */
export function ChooseRecords(props: {
  kind: KindName
  label: string
  name: string
  value: string[]
  onChange: (ids: string[]) => void
}) {
  const { kind, label, name, value, onChange } = props
  const [text, setText] = useState('')
  const records = useMatching(kind, text)
  /** The records that were chosen when the form opened: a checked record keeps its place. */
  const [first] = useState(value)
  const ids = [...new Set([...(text.trim() === '' ? first : []), ...records.map(({ id }) => id)])]
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
            <RecordName kind={kind} id={id} />
          </Checkbox>
        ))}
      </div>
      <FieldErrorText />
    </CheckboxGroup>
  )
}
