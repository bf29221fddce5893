import { Checkbox } from 'react-aria-components'
import type { Permission } from '../../../api/roles.ts'
import { Icon } from '../../../parts/icon.tsx'
import { Choose } from '../../../parts/parts.tsx'
import { roleTexts as de } from '../../../texts/de/roles.ts'
import { roleTexts as en } from '../../../texts/en/roles.ts'
import { useOwnTexts } from '../../../texts/texts.tsx'
import { type DataType, useDataTypes } from './data-types.ts'
import { groupByResource, type Right, type Rights, withRight } from './rights.ts'

const TEXTS = { en, de }

interface Props {
  permissions: readonly Permission[]
  rights: Rights
  /** Absent where the role cannot be changed. */
  onChange: ((rights: Rights) => void) | undefined
}

/** Every permission in words, with its reach. */
export function RightsFields({ permissions, rights, onChange }: Props) {
  const t = useOwnTexts(TEXTS)
  return (
    <div className="rights">
      {groupByResource(permissions).map(([resource, group]) => (
        <fieldset key={resource}>
          <legend>{t.resources[resource] ?? resource}</legend>
          {group.map(permission => (
            <RightField
              key={permission.permissionName}
              permission={permission}
              right={rights[permission.permissionName] ?? null}
              onChange={onChange && (right => onChange(withRight(rights, permission.permissionName, right)))}
            />
          ))}
        </fieldset>
      ))}
    </div>
  )
}

interface RightProps {
  permission: Permission
  right: Right | null
  onChange: ((right: Right | null) => void) | undefined
}

function RightField({ permission, right, onChange }: RightProps) {
  const t = useOwnTexts(TEXTS)
  const { permissionName, description, scopes, isPerDataType } = permission
  const words = t.say(permissionName, description)
  // New permissions reach as little as they can.
  const least = scopes.at(-1) ?? 'all'
  return (
    <div className="right">
      <Check
        isSelected={right !== null}
        onChange={onChange && (isGranted => onChange(isGranted ? { scope: least } : null))}
      >
        {words}
      </Check>
      {right && scopes.length > 1 && onChange && (
        <Choose
          compact
          label={t.scopeOf(words)}
          value={right.scope}
          onChange={scope => onChange({ ...right, scope: scope as Right['scope'] })}
          choices={scopes.map(scope => ({ id: scope, name: t.scopes[scope] }))}
        />
      )}
      {right && scopes.length > 1 && !onChange && <small>{t.scopes[right.scope]}</small>}
      {right && isPerDataType && <TypesField words={words} right={right} onChange={onChange} />}
    </div>
  )
}

/** The data types for which a permission holds, and their fields that stay hidden. */
function TypesField({
  words,
  right,
  onChange,
}: Omit<RightProps, 'permission'> & { words: string; right: Right }) {
  const t = useOwnTexts(TEXTS)
  const types = useDataTypes()
  const { dataTypes } = right
  if (types.length === 0 && !dataTypes) return null
  const hidden = dataTypes?.reduce((sum, { restrictedFields }) => sum + restrictedFields.length, 0) ?? 0
  const change = (next: Right['dataTypes']) => {
    const { dataTypes: _, ...others } = right
    onChange?.(next ? { ...others, dataTypes: next } : others)
  }
  return (
    <details className="more-fields">
      <summary>
        {dataTypes
          ? [t.types(dataTypes.length), ...(hidden > 0 ? [t.hiddenFields(hidden)] : [])].join(', ')
          : t.allTypes}
        <span className="unseen">: {words}</span>
      </summary>
      <div className="stack">
        {onChange && (
          <Choose
            compact
            label={t.perType}
            value={dataTypes ? 'some' : 'all'}
            onChange={value =>
              change(
                value === 'all'
                  ? undefined
                  : types.map(({ _id }) => ({ dataTypeId: _id, restrictedFields: [] })),
              )
            }
            choices={[
              { id: 'all', name: t.allTypes },
              { id: 'some', name: t.someTypes },
            ]}
          />
        )}
        {dataTypes &&
          types.map(type => (
            <TypeField key={type._id} type={type} all={dataTypes} onChange={onChange && change} />
          ))}
      </div>
    </details>
  )
}

type Types = NonNullable<Right['dataTypes']>

function TypeField(props: { type: DataType; all: Types; onChange: ((all: Types) => void) | undefined }) {
  const { type, all, onChange } = props
  const t = useOwnTexts(TEXTS)
  const own = all.find(({ dataTypeId }) => dataTypeId === type._id)
  const others = all.filter(one => one !== own)
  const restrict = (restrictedFields: string[]) =>
    onChange?.([...others, { dataTypeId: type._id, restrictedFields }])
  return (
    <div className="type">
      <Check
        isSelected={own !== undefined}
        onChange={onChange && (isIn => (isIn ? restrict([]) : onChange(others)))}
      >
        {type.name}
      </Check>
      {own && (
        // biome-ignore lint/a11y/useSemanticElements: a fieldset inside a fieldset reads badly
        <div className="hidden-fields" role="group" aria-label={t.hiddenOf(type.name)}>
          <small>{t.hiddenOf(type.name)}</small>
          {type.fields.map(({ key, label }) => (
            <Check
              key={key}
              isSelected={own.restrictedFields.includes(key)}
              onChange={
                onChange &&
                (isHidden =>
                  restrict(
                    isHidden
                      ? [...own.restrictedFields, key]
                      : own.restrictedFields.filter(one => one !== key),
                  ))
              }
            >
              {label}
            </Check>
          ))}
        </div>
      )}
    </div>
  )
}

function Check(props: {
  isSelected: boolean
  onChange: ((isSelected: boolean) => void) | undefined
  children: string
}) {
  const { isSelected, onChange, children } = props
  return (
    <Checkbox
      className="check"
      isSelected={isSelected}
      isReadOnly={!onChange}
      {...(onChange && { onChange })}
    >
      <span className="box">
        <Icon name="check" />
      </span>
      {children}
    </Checkbox>
  )
}
