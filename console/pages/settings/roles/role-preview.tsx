import { Icon } from '../../../parts/icon.tsx'
import { useAllPages } from '../../../shell/pages.ts'
import { SECTIONS, type SectionName } from '../../../shell/sections.ts'
import { roleTexts as de } from '../../../texts/de/roles.ts'
import { roleTexts as en } from '../../../texts/en/roles.ts'
import { useOwnTexts, useTexts } from '../../../texts/texts.tsx'
import { useDataTypes } from './data-types.ts'
import type { Rights } from './rights.ts'

const TEXTS = { en, de }

/** Shows which pages, whose records and which fields of the data somebody with these rights sees. */
export function RolePreview({ rights }: { rights: Rights }) {
  const { preview: t, scopes } = useOwnTexts(TEXTS)
  const { nav } = useTexts()
  const may = (permission: string) => Object.hasOwn(rights, permission)
  const pages = useAllPages().map(({ text, needs = [] }) => ({ text, isThere: needs.every(may) }))
  const sections = (Object.keys(SECTIONS) as SectionName[]).map(name => {
    const needed = SECTIONS[name]
    return { text: `${nav.settings}: ${nav.sections[name]}`, isThere: needed === null || may(needed) }
  })
  const reach = [
    [t.positions, rights['view/location']],
    [t.tasks, rights['view/task']],
    [t.users, rights['view/user']],
  ] as const
  return (
    <div className="stack preview">
      <section>
        <h3>{t.pages}</h3>
        <ul className="marks">
          {[...pages.filter(({ text }) => text !== nav.settings), ...sections].map(({ text, isThere }) => (
            <li key={text} className={isThere ? '' : 'absent'}>
              <Icon name={isThere ? 'check' : 'close'} />
              <span>{text}</span>
              <span className="unseen">{isThere ? t.there : t.absent}</span>
            </li>
          ))}
        </ul>
      </section>
      <section>
        <h3>{t.reach}</h3>
        <dl className="facts">
          {reach.map(([name, right]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{right ? scopes[right.scope] : t.nothing}</dd>
            </div>
          ))}
        </dl>
      </section>
      <DataSeen rights={rights} />
      <p className="hint">{t.limits}</p>
    </div>
  )
}

/** The data types, and the fields that are gone for the role. */
function DataSeen({ rights }: { rights: Rights }) {
  const { preview: t } = useOwnTexts(TEXTS)
  const types = useDataTypes()
  if (types.length === 0) return null
  const right = rights['view/data']
  const sayOf = ({ _id, fields }: (typeof types)[number]): string => {
    if (!right) return t.typeAbsent
    if (!right.dataTypes) return t.wholeType
    const own = right.dataTypes.find(({ dataTypeId }) => dataTypeId === _id)
    if (!own) return t.typeAbsent
    const gone = fields.filter(({ key }) => own.restrictedFields.includes(key)).map(({ label }) => label)
    return gone.length > 0 ? t.without(gone.join(', ')) : t.wholeType
  }
  return (
    <section>
      <h3>{t.fields}</h3>
      <dl className="facts">
        {types.map(type => (
          <div key={type._id}>
            <dt>{type.name}</dt>
            <dd>{sayOf(type)}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
