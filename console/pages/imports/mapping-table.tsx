import { Choose } from '../../parts/parts.tsx'
import type { FieldDefinition } from '../data/data-queries.ts'
import type { ImportRecord } from './import-queries.ts'
import { type Mapping, PARTS, partOf, purposesOf, withPurpose } from './mapping.ts'
import type { Preview } from './preview.ts'
import { useImportTexts } from './texts.ts'

interface Props {
  preview: Preview
  fields: readonly FieldDefinition[]
  mapping: Mapping
  /** The failures of the last check, whose cells are marked. */
  failures: ImportRecord['failures']
  onChange: (mapping: Mapping) => void
}

/** The first rows of the file, with the field of each column above it. */
export function MappingTable({ preview, fields, mapping, failures, onChange }: Props) {
  const t = useImportTexts()
  const purposes = purposesOf(mapping)
  const choices = [
    { id: '', name: t.skip },
    ...fields.flatMap(({ key, label, type }) => [
      { id: key, name: label },
      ...(type === 'location' ? PARTS.map(part => ({ id: partOf(key, part), name: t[part](label) })) : []),
    ]),
  ]
  /** The reason why a cell fails. Spreadsheets number the heading 1. */
  const whyOf = (row: number, heading: string) => {
    const [field] = (purposes.get(heading) ?? '').split('#')
    return failures.find(one => one.row === row + 2 && one.field === field && field !== '')?.message
  }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is scrolled by keys too
    <section className="mapping" tabIndex={0} aria-label={t.mapping}>
      <table>
        <thead>
          <tr>
            {preview.headings.map((heading, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: headings may repeat, and columns do not move
              <th key={at} scope="col" className={purposes.get(heading) ? '' : 'unmapped'}>
                <span>{heading}</span>
                {heading !== '' && (
                  <Choose
                    compact
                    label={t.column(heading)}
                    value={purposes.get(heading) ?? ''}
                    onChange={purpose => onChange(withPurpose(mapping, heading, purpose))}
                    choices={choices}
                  />
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {preview.rows.map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the rows of a file have no other name
            <tr key={index}>
              {preview.headings.map((heading, at) => {
                const why = whyOf(index, heading)
                return (
                  // biome-ignore lint/suspicious/noArrayIndexKey: as above
                  <td key={at} className={purposes.get(heading) ? '' : 'unmapped'} title={why}>
                    {why ? <mark>{row[at] || '–'}</mark> : row[at]}
                  </td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
