import { useWorkspace } from '../../api/workspace.ts'
import { type KindName, permissionTo } from '../../kinds.ts'
import { ChooseRecord } from '../../parts/choose-record.tsx'
import { ActionButton, Choose } from '../../parts/parts.tsx'
import { useBulkTexts } from './bulk-texts.ts'

/** A filter of a list under the API's name, by a record (`hubId`) or by one of several values (`status`). */
export type Filter = { name: string; label: string } & (
  | { kind: KindName }
  | { choices: readonly { id: string; name: string }[]; all: string }
)

/** The filters that an address sets. */
export const filtersOf = (params: URLSearchParams, filters: readonly Filter[]): { [name: string]: string } =>
  Object.fromEntries(
    filters.flatMap(filter => {
      const value = params.get(filter.name)
      const isOffered = !('choices' in filter) || filter.choices.some(({ id }) => id === value)
      return value && isOffered ? [[filter.name, value]] : []
    }),
  )

interface Props {
  filters: readonly Filter[]
  params: URLSearchParams
  onChange: (changes: { [name: string]: string }) => void
}

/** The fields of the filters that the role may choose from. */
export function FilterFields({ filters, params, onChange }: Props) {
  const t = useBulkTexts()
  const { may } = useWorkspace()
  const isSet = filters.some(({ name }) => params.has(name))
  const shown = filters.filter(filter =>
    'kind' in filter ? may(permissionTo('view', filter.kind)) : filter.choices.length > 0,
  )
  if (shown.length === 0) return null
  return (
    <div className="list-filter-fields">
      {shown.map(filter => {
        const { name, label } = filter
        const shared = { label, onChange: (value: string) => onChange({ [name]: value }) }
        const value = filtersOf(params, [filter])[name] ?? ''
        return 'kind' in filter ? (
          <ChooseRecord key={name} compact kind={filter.kind} none={t.all(label)} value={value} {...shared} />
        ) : (
          <Choose
            key={name}
            compact
            choices={[{ id: '', name: filter.all }, ...filter.choices]}
            value={value}
            {...shared}
          />
        )
      })}
      {isSet && (
        <ActionButton
          looks="quiet"
          onPress={() => onChange(Object.fromEntries(filters.map(({ name }) => [name, ''])))}
        >
          {t.resetFilters}
        </ActionButton>
      )}
    </div>
  )
}
