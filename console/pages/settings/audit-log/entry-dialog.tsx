import { useNavigate } from 'react-router'
import { Modal } from '../../../parts/modal.tsx'
import { ActionButton } from '../../../parts/parts.tsx'
import { auditTexts as de } from '../../../texts/de/audit-log.ts'
import { auditTexts as en } from '../../../texts/en/audit-log.ts'
import { useFormat, useOwnTexts } from '../../../texts/texts.tsx'
import { addressOf, type Entry } from './entries.ts'
import { useSayEntry, Who } from './words.tsx'

const TEXTS = { en, de }

interface Props {
  entry: Entry
  /** Shows everything about one record. */
  onRecord: (id: string) => void
  onClose: () => void
}

/** One change with its differences. */
export function EntryDialog({ entry, onRecord, onClose }: Props) {
  const t = useOwnTexts(TEXTS)
  const format = useFormat()
  const navigate = useNavigate()
  const say = useSayEntry()
  const { changes, resourceId } = entry
  const address = addressOf(entry)
  const fields = Object.entries(changes)
  const hasValues = fields.some(([, { from, to }]) => from !== undefined || to !== undefined)
  return (
    <Modal
      title={`${say.resource(entry.resource)}: ${say.action(entry.action)}`}
      onClose={onClose}
      wide
      hasDone
    >
      <div className="stack">
        <dl className="facts">
          <div>
            <dt>{t.who}</dt>
            <dd>
              <Who entry={entry} />
            </dd>
          </div>
          <div>
            <dt>{t.at}</dt>
            <dd>{format.sinceSeconds(Date.parse(entry.at))}</dd>
          </div>
        </dl>
        {fields.length > 0 ? (
          <table className="differences">
            <thead>
              <tr>
                <th scope="col">{t.field}</th>
                {hasValues && (
                  <>
                    <th scope="col">{t.before}</th>
                    <th scope="col">{t.after}</th>
                  </>
                )}
              </tr>
            </thead>
            <tbody>
              {fields.map(([name, change]) => (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  {hasValues && (
                    <>
                      <td className="before">{write(change.from, change.to) ?? t.empty}</td>
                      <td className="after">{write(change.to, change.from) ?? t.empty}</td>
                    </>
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        ) : (
          <p className="hint">{t.noDifferences}</p>
        )}
        {fields.length > 0 && !hasValues && <p className="hint">{t.values}</p>}
        <div className="row-of-buttons">
          {resourceId && <ActionButton onPress={() => onRecord(resourceId)}>{t.ofRecord}</ActionButton>}
          {address && (
            <ActionButton looks="quiet" onPress={() => void navigate(address)}>
              {t.openRecord}
            </ActionButton>
          )}
        </div>
      </div>
    </Modal>
  )
}

/** A value as people read it: a text without its quotes, and of two lists the entries that the other one lacks. */
function write(value: unknown, other: unknown): string | null {
  if (value === undefined || value === null || value === '') return null
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) return writePlain(value)
  const others = new Set(Array.isArray(other) ? other.map(writePlain) : [])
  const own = value.map(writePlain).filter(text => !others.has(text))
  return own.length > 0 ? own.join('\n') : null
}

const writePlain = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value, null, 1).replace(/\n\s*/g, ' ')
