import { useState } from 'react'
import { Choose, IconButton } from '../../parts/parts.tsx'
import type { FieldDefinition } from './data-queries.ts'
import { FieldInput } from './field-input.tsx'
import { draftOf, type FieldDraft, readDraft } from './field-value.ts'
import { useDataTexts } from './texts.ts'

const PREFIX = 'is.'
/** A filter asks for one value: lists and places have none that could be typed. */
const UNFILTERED = ['multiselect', 'location']

/** The filters in the page's URL, by the keys of their fields, without those of fields that the role does not see. */
export function readFilters(
  params: URLSearchParams,
  fields: readonly FieldDefinition[],
): { [key: string]: string } {
  const entries = fields.map(({ key }) => [key, params.get(PREFIX + key) ?? ''] as const)
  return Object.fromEntries(entries.filter(([, value]) => value !== ''))
}

interface Props {
  fields: readonly FieldDefinition[]
  params: URLSearchParams
  onChange: (changes: { [name: string]: string }) => void
}

/** A filter for each chosen field, with the input of its type. */
export function Filters({ fields, params, onChange }: Props) {
  const t = useDataTexts()
  const active = readFilters(params, fields)
  const [added, setAdded] = useState<readonly string[]>([])
  const shown = fields.filter(({ key }) => Object.hasOwn(active, key) || added.includes(key))
  const others = fields.filter(field => !shown.includes(field) && !UNFILTERED.includes(field.type))
  const write = (field: FieldDefinition, draft: FieldDraft) => {
    const value = readDraft(field, draft)
    onChange({ [PREFIX + field.key]: value === null ? '' : String(value) })
  }
  return (
    <>
      {shown.map(field => (
        <div key={field.key} className="data-filter">
          <FieldInput
            field={{ ...field, label: t.filterValue(field.label), required: false }}
            name={`filter.${field.key}`}
            value={draftOf({ type: field.type === 'boolean' ? 'text' : field.type }, active[field.key])}
            onChange={draft => write(field, draft)}
          />
          <IconButton
            icon="close"
            label={t.removeFilter(field.label)}
            onPress={() => {
              setAdded(added.filter(key => key !== field.key))
              onChange({ [PREFIX + field.key]: '' })
            }}
          />
        </div>
      ))}
      {others.length > 0 && (
        <Choose
          compact
          label={t.addFilter}
          value=""
          onChange={key => key && setAdded([...added, key])}
          choices={[
            { id: '', name: t.addFilter },
            ...others.map(({ key, label }) => ({ id: key, name: label })),
          ]}
        />
      )}
    </>
  )
}
