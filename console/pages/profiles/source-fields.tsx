import { useState } from 'react'
import type { Problem } from '../../api/failure.ts'
import { Choose, Field, IconButton } from '../../parts/parts.tsx'
import { describeField } from '../../texts/errors.ts'
import { useTexts } from '../../texts/texts.tsx'
import { type FieldName, readScalar, type Source, sourceAt, UNITS, writeScalar } from './choices.ts'
import { useProfileTexts } from './texts.ts'

export type Problems = { readonly [path: string]: Problem }

interface Props {
  /** Where the source stands in the profile: `fields.lat`. */
  at: string
  label: string
  source: Source | null
  onChange: (source: Source | null) => void
  problems: Problems
  /** The field of a point, which has units. */
  field?: FieldName | undefined
  /** The choice that holds until somebody chooses another. */
  none: string
}

/** Where a value comes from: its path, its unit, and more where that is needed. */
export function SourceFields({ at, label, source, onChange, problems, field, none }: Props) {
  const t = useProfileTexts()
  return (
    <div className="source">
      <div className="source-main">
        <Field
          label={label}
          // The server reports a missing source at its own place.
          name={source ? `${at}.from.0` : at}
          placeholder={none}
          value={source?.from[0] ?? ''}
          onChange={path =>
            onChange(
              path === ''
                ? null
                : { ...(source ?? sourceAt(path)), from: [path, ...(source?.from.slice(1) ?? [])] },
            )
          }
        />
        {source && field && (
          <UnitField label={label} field={field} source={source} onChange={onChange} at={at} />
        )}
        {source && <IconButton icon="close" label={t.removeOf(label)} onPress={() => onChange(null)} />}
      </div>
      <ProblemAt at={at} problems={problems} />
      {source && <More at={at} label={label} source={source} onChange={onChange} />}
    </div>
  )
}

const PATTERN = 'YYYY-MM-DD HH:mm:ss'

function UnitField(props: {
  at: string
  label: string
  field: FieldName
  source: Source
  onChange: (source: Source) => void
}) {
  const { at, label, field, source, onChange } = props
  const t = useProfileTexts()
  const known: readonly string[] = UNITS[field]
  const isTime = field === 'timestamp'
  const unit = source.unit ?? (isTime ? 'any' : (known[0] as string))
  const isPattern = isTime && source.unit !== null && !known.includes(source.unit)
  const choices = [
    ...(isTime ? [{ id: 'any', name: t.anyTime }] : []),
    ...known.map(id => ({ id, name: t.units[id as keyof typeof t.units] })),
    ...(isTime ? [{ id: 'pattern', name: t.ownPattern }] : []),
  ]
  const choose = (id: string) =>
    onChange({ ...source, unit: id === 'any' ? null : id === 'pattern' ? PATTERN : id })
  return (
    <>
      <Choose
        label={t.unitOf(label)}
        compact
        choices={choices}
        value={isPattern ? 'pattern' : unit}
        onChange={choose}
      />
      {isPattern && (
        <Field
          label={t.pattern}
          name={`${at}.unit`}
          value={source.unit ?? ''}
          onChange={text => onChange({ ...source, unit: text || null })}
        />
      )}
    </>
  )
}

/** Parts of a text, JSON in a text, and values that stand for nothing. */
function More({
  at,
  label,
  source,
  onChange,
}: Pick<Props, 'at' | 'label'> & {
  source: Source
  onChange: (source: Source) => void
}) {
  const t = useProfileTexts()
  const { split, json, absent } = source
  const isUsed = split !== null || json !== null || absent.length > 0
  const setSplit = (by: string, index: number) =>
    onChange({ ...source, split: by === '' ? null : { by, index } })
  return (
    <details className="more-fields" open={isUsed || undefined}>
      <summary aria-label={t.moreOf(label)}>{t.more}</summary>
      <div className="stack">
        <div className="two">
          <Field
            label={t.splitBy}
            hint={t.splitHint}
            name={`${at}.split.by`}
            value={split?.by ?? ''}
            onChange={by => setSplit(by, split?.index ?? 0)}
          />
          {split && (
            <Field
              label={t.splitPart}
              name={`${at}.split.index`}
              inputMode="numeric"
              // People count from 1.
              value={String(split.index + 1)}
              onChange={text => setSplit(split.by, Math.max(0, (Number.parseInt(text, 10) || 1) - 1))}
            />
          )}
        </div>
        <Field
          label={t.inner}
          name={`${at}.json.path`}
          placeholder="$.lat"
          value={json?.path ?? ''}
          onChange={path => onChange({ ...source, json: path === '' ? null : { path } })}
        />
        <AbsentField
          value={absent.map(writeScalar).join(', ')}
          name={`${at}.absent`}
          onChange={text => onChange({ ...source, absent: readList(text) })}
        />
      </div>
    </details>
  )
}

const readList = (text: string) => (text.trim() === '' ? [] : text.split(',').map(one => readScalar(one)))

/** The text stays as it is typed: a comma at its end is none of the values. */
function AbsentField(props: { value: string; name: string; onChange: (text: string) => void }) {
  const { value, name, onChange } = props
  const t = useProfileTexts()
  const [text, setText] = useState(value)
  const change = (next: string) => {
    setText(next)
    onChange(next)
  }
  return <Field label={t.absent} hint={t.absentHint} name={name} value={text} onChange={change} />
}

/** Says at a choice why it does not fit. */
export function ProblemAt({ at, problems }: { at: string; problems: Problems }) {
  const texts = useTexts()
  const here = Object.entries(problems).find(([path]) => path === at || path.startsWith(`${at}.`))
  if (!here) return null
  const [, problem] = here
  return (
    <p className="field-error" role="alert">
      {describeField(problem, texts.problems)}
    </p>
  )
}
