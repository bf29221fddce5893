import { Checkbox } from 'react-aria-components'
import { Icon } from '../../parts/icon.tsx'
import { Choose, Field, IconButton } from '../../parts/parts.tsx'
import { type FieldDefinition, useDataTypes } from './data-queries.ts'
import { useDataTexts } from './texts.ts'
import { type FieldRow, keyOf } from './type-draft.ts'

type FieldType = FieldDefinition['type']

interface Props {
  rows: readonly FieldRow[]
  primaryKey: string
  /** A reference may refer to records of its own type. */
  ownTypeId: string | null
  /** Whether records contradict the new rules of a field. */
  contradicted: (row: FieldRow) => boolean
  onChange: (rows: FieldRow[]) => void
}

/** The fields of a data type, each in a row. */
export function FieldRows({ rows, primaryKey, ownTypeId, contradicted, onChange }: Props) {
  const t = useDataTexts()
  const { types } = useDataTypes()
  const change = (at: number, next: Partial<FieldRow>) =>
    onChange(rows.map((row, index) => (index === at ? { ...row, ...next } : row)))
  const move = (at: number, by: 1 | -1) => {
    const next = [...rows]
    const [row] = next.splice(at, 1)
    if (row) next.splice(at + by, 0, row)
    onChange(next)
  }
  const rename = (at: number, row: FieldRow, label: string) =>
    change(at, { label, ...(row.stored === null && { key: keyOf(label) }) })
  return (
    <fieldset className="field-rows">
      <legend>{t.fields}</legend>
      {rows.map((row, at) => {
        const name = (part: string) => `fields.${at}.${part}`
        const title = row.label || t.newField
        const isKey = row.key !== '' && row.key === primaryKey
        return (
          <fieldset
            key={row.rowId}
            className={contradicted(row) ? 'field-row contradicted' : 'field-row'}
            aria-label={title}
          >
            <Field
              label={t.label}
              name={name('label')}
              value={row.label}
              onChange={label => rename(at, row, label)}
              isRequired
              autoFocus={row.stored === null && row.label === ''}
            />
            <Field
              label={t.key}
              name={name('key')}
              value={row.key}
              onChange={key => change(at, { key })}
              isRequired
            />
            <Choose
              label={t.type}
              name={name('type')}
              value={row.type}
              onChange={type => change(at, { type: type as FieldType })}
              choices={Object.entries(t.fieldTypes).map(([id, text]) => ({ id, name: text }))}
            />
            <div className="field-rules">
              <Rule
                label={t.required}
                isSelected={row.required || isKey}
                isDisabled={isKey}
                onChange={required => change(at, { required })}
              />
              <Rule
                label={t.unique}
                isSelected={row.unique || isKey}
                isDisabled={isKey}
                onChange={unique => change(at, { unique })}
              />
              <span className="end">
                <IconButton
                  icon="down"
                  className="up"
                  label={t.up(title)}
                  isDisabled={at === 0}
                  onPress={() => move(at, -1)}
                />
                <IconButton
                  icon="down"
                  label={t.down(title)}
                  isDisabled={at === rows.length - 1}
                  onPress={() => move(at, 1)}
                />
                <IconButton
                  icon="close"
                  label={t.removeField(title)}
                  onPress={() => onChange(rows.filter((_, index) => index !== at))}
                />
              </span>
            </div>
            {/select$/.test(row.type) && (
              <Field
                label={t.options}
                name={name('options')}
                value={row.options.join(', ')}
                onChange={text => change(at, { options: text.split(/,\s?/) })}
              />
            )}
            {row.type === 'reference' && (
              <Choose
                label={t.refersTo}
                name={name('dataTypeId')}
                value={row.dataTypeId ?? ''}
                onChange={id => change(at, { dataTypeId: id || null })}
                choices={[
                  { id: '', name: t.anyType },
                  ...types.map(({ _id, name }) => ({
                    id: _id,
                    name: _id === ownTypeId ? `${name} ↩` : name,
                  })),
                ]}
              />
            )}
          </fieldset>
        )
      })}
    </fieldset>
  )
}

function Rule(props: {
  label: string
  isSelected: boolean
  isDisabled: boolean
  onChange: (isSelected: boolean) => void
}) {
  const { label, ...rest } = props
  return (
    <Checkbox className="check" {...rest}>
      <span className="box">
        <Icon name="check" />
      </span>
      {label}
    </Checkbox>
  )
}
