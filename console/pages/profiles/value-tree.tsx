import {
  Button,
  Header,
  Menu,
  MenuItem,
  MenuSection,
  MenuTrigger,
  Popover,
  Separator,
} from 'react-aria-components'
import {
  addAttribute,
  addCondition,
  type Draft,
  FIELDS,
  type FieldName,
  type Source,
  setEach,
  sourceAt,
} from './choices.ts'
import type { Sample } from './samples.ts'
import { useProfileTexts } from './texts.ts'
import { type Node, treeOf } from './tree.ts'

interface Props {
  sample: Sample
  draft: Draft
  onChange: (draft: Draft) => void
}

/** The values of a message. Choosing one says what it is. */
export function ValueTree({ sample, draft, onChange }: Props) {
  const t = useProfileTexts()
  const roots = treeOf(sample, draft.each)
  if (roots.length === 0) return <p className="hint">{t.noValues}</p>
  return (
    <>
      <p className="hint">{t.valuesHint}</p>
      <ul className="value-tree">
        {roots.map(node => (
          <TreeNode key={node.key} node={node} draft={draft} onChange={onChange} />
        ))}
      </ul>
    </>
  )
}

function TreeNode({ node, draft, onChange }: Omit<Props, 'sample'> & { node: Node }) {
  const { name, children } = node
  const isInside = children.length > 0
  return (
    <li>
      {isInside && !node.isList ? (
        <span className="value-name">{name}</span>
      ) : (
        <Value node={node} draft={draft} onChange={onChange} />
      )}
      {isInside && (
        <ul>
          {children.map(child => (
            <TreeNode key={child.key} node={child} draft={draft} onChange={onChange} />
          ))}
        </ul>
      )}
    </li>
  )
}

/** The names of the fields that a value is chosen for. */
function useMeanings(node: Node, draft: Draft): string[] {
  const t = useProfileTexts()
  const isHere = (source: Source | null) =>
    source?.from.includes(node.path) === true && (source.json?.path ?? null) === node.inner
  return [
    ...FIELDS.filter(name => isHere(draft.fields[name])).map(name => t.fields[name]),
    ...(isHere(draft.device) ? [t.device] : []),
    ...Object.entries(draft.attributes)
      .filter(([, source]) => isHere(source))
      .map(([name]) => name),
    ...(node.isList && node.inner === null && draft.each === node.path ? [t.isList] : []),
  ]
}

function Value({ node, draft, onChange }: Omit<Props, 'sample'> & { node: Node }) {
  const t = useProfileTexts()
  const { name, path, inner, value, isList } = node
  const meanings = useMeanings(node, draft)
  const act = (key: string) => onChange(actOn(draft, node, key))
  return (
    <MenuTrigger>
      <Button className="value">
        <span className="unseen">{t.valueIs(inner === null ? path : `${path} ${inner}`)} </span>
        <span className="value-name">{name}</span>
        <span className="value-text">{isList ? '[…]' : show(value)}</span>
        {meanings.map(meaning => (
          <span key={meaning} className="meaning">
            {meaning}
          </span>
        ))}
      </Button>
      <Popover className="popover" placement="bottom start">
        <Menu className="menu" aria-label={t.valueIs(path)} onAction={key => act(String(key))}>
          {isList && inner === null ? (
            <MenuSection>
              <Header>{t.asField}</Header>
              <Item id="list">{draft.each === path ? t.asNoList : t.asList}</Item>
            </MenuSection>
          ) : (
            <>
              <MenuSection>
                <Header>{t.asField}</Header>
                {FIELDS.map(field => (
                  <Item key={field} id={`field:${field}`}>
                    {t.fields[field]}
                  </Item>
                ))}
                <Item id="device">{t.device}</Item>
                <Item id="attribute">{t.asAttribute}</Item>
              </MenuSection>
              <Separator />
              <MenuSection>
                <Header>{t.asCondition}</Header>
                <Item id="only">{t.onlyWith}</Item>
                <Item id="not">{t.notWith}</Item>
              </MenuSection>
            </>
          )}
        </Menu>
      </Popover>
    </MenuTrigger>
  )
}

const Item = ({ id, children }: { id: string; children: string }) => (
  <MenuItem id={id} textValue={children} className="menu-item">
    {children}
  </MenuItem>
)

const MAX_SHOWN = 60
function show(value: unknown): string {
  const text = JSON.stringify(value) ?? ''
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
}

/** The choices after something was said about a value. */
function actOn(draft: Draft, { name, path, inner, value }: Node, key: string): Draft {
  const source = sourceAt(path, inner)
  if (key === 'list') return setEach(draft, draft.each === path ? null : path)
  if (key === 'device') return { ...draft, device: source }
  if (key === 'attribute') return addAttribute(draft, name, source)
  if (key === 'only' || key === 'not') {
    const isScalar = value === null || typeof value !== 'object'
    return addCondition(draft, {
      from: path,
      ...(isScalar ? { is: key === 'only' ? 'equals' : 'not', value: value as string } : { is: 'exists' }),
    })
  }
  const field = key.slice('field:'.length) as FieldName
  // A value that is chosen again keeps its unit.
  const before = draft.fields[field]
  return { ...draft, fields: { ...draft.fields, [field]: { ...source, unit: before?.unit ?? null } } }
}
