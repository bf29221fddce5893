import { type DateValue, parseDate } from '@internationalized/date'
import { useMemo, useState } from 'react'
import { Checkbox, CheckboxGroup, Label } from 'react-aria-components'
import { ChooseFound } from '../../parts/choose-record.tsx'
import { DateChoice } from '../../parts/date-picker.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Choose, Field, FieldErrorText } from '../../parts/parts.tsx'
import { TimeChoice } from '../../parts/time-choice.tsx'
import { useTexts } from '../../texts/texts.tsx'
import type { PlaceDraft } from '../place-draft.ts'
import { PlaceField } from '../place-field.tsx'
import {
  type FieldDefinition,
  titleOf,
  useDataRecord,
  useDataTypes,
  useFoundRecords,
} from './data-queries.ts'
import type { FieldDraft } from './field-value.ts'
import { useDataTexts } from './texts.ts'

interface Props {
  field: FieldDefinition
  /** The name of the input, as the server names the field in its errors: `data.phone`. */
  name: string
  value: FieldDraft
  onChange: (value: FieldDraft) => void
}

const INPUT_TYPES = { email: 'email', phone: 'tel', url: 'url' } as const

/** The input of a field of a data type or of a flow's step. */
export function FieldInput({ field, name, value, onChange }: Props) {
  const t = useDataTexts()
  const { form } = useTexts()
  const { type, label, required } = field
  const shared = { label, name }
  const text = typeof value === 'string' ? value : ''
  if (type === 'location') return <PlaceField {...shared} value={value as PlaceDraft} onChange={onChange} />
  if (type === 'datetime')
    return <TimeChoice {...shared} value={text} onChange={onChange} isRequired={required} />
  if (type === 'date') return <DateInput {...shared} value={text} onChange={onChange} isRequired={required} />
  if (type === 'reference')
    return <ReferenceInput {...shared} field={field} value={text} onChange={onChange} />
  if (type === 'multiselect')
    return <OptionsInput {...shared} options={field.options} value={value as string[]} onChange={onChange} />
  if (type === 'boolean' || type === 'select') {
    const choices =
      type === 'boolean'
        ? [
            { id: 'true', name: t.yes },
            { id: 'false', name: t.no },
          ]
        : field.options.map(option => ({ id: option, name: option }))
    return (
      <Choose
        {...shared}
        value={text}
        onChange={onChange}
        choices={[{ id: '', name: form.none }, ...choices]}
      />
    )
  }
  const inputType = INPUT_TYPES[type as keyof typeof INPUT_TYPES]
  return (
    <Field
      {...shared}
      value={text}
      onChange={onChange}
      isRequired={required}
      // No `type`: the server's rules for an address or a number differ from the browser's own.
      inputMode={type === 'number' ? 'decimal' : (inputType ?? 'text')}
    />
  )
}

function DateInput(props: {
  label: string
  name: string
  value: string
  onChange: (date: string) => void
  isRequired: boolean
}) {
  const { value, onChange, ...rest } = props
  const shown = useMemo(() => (/^\d{4}-\d\d-\d\d$/.test(value) ? parseDate(value) : null), [value])
  const write = (next: DateValue | null) => onChange(next?.toString() ?? '')
  return <DateChoice {...rest} value={shown} onChange={write} />
}

function OptionsInput(props: {
  label: string
  name: string
  options: readonly string[]
  value: string[]
  onChange: (value: string[]) => void
}) {
  const { label, name, options, value, onChange } = props
  return (
    <CheckboxGroup className="field checks" name={name} value={value} onChange={onChange}>
      <Label>{label}</Label>
      <div>
        {options.map(option => (
          <Checkbox key={option} value={option} className="check">
            <span className="box">
              <Icon name="check" />
            </span>
            {option}
          </Checkbox>
        ))}
      </div>
      <FieldErrorText />
    </CheckboxGroup>
  )
}

/** One record of the type that the field refers to, found by the server. */
function ReferenceInput(props: {
  label: string
  name: string
  field: FieldDefinition
  value: string
  onChange: (id: string) => void
}) {
  const { field, value, onChange, label, name } = props
  const { form } = useTexts()
  const { types } = useDataTypes()
  const [text, setText] = useState('')
  const found = useFoundRecords(text, field.dataTypeId ?? undefined)
  const chosen = useDataRecord(value)
  const choices = found.map(record => ({ id: record._id, name: titleOf(record, types) }))
  return (
    <ChooseFound
      {...{ label, name, value, onChange, text, setText }}
      choices={text.trim() === '' ? [{ id: '', name: form.none }, ...choices] : choices}
      chosen={value === '' ? form.none : chosen ? titleOf(chosen, types) : '…'}
    />
  )
}
