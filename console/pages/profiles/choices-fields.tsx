import { Choose, Field, IconButton } from '../../parts/parts.tsx'
import { useTexts } from '../../texts/texts.tsx'
import {
  type Condition,
  type Draft,
  FIELDS,
  readScalar,
  type Source,
  setEach,
  writeScalar,
} from './choices.ts'
import { ProblemAt, type Problems, SourceFields } from './source-fields.tsx'
import { useProfileTexts } from './texts.ts'

interface Props {
  draft: Draft
  onChange: (draft: Draft) => void
  problems: Problems
}

/** All choices of a profile, each with what does not fit at its place. */
export function ChoicesFields({ draft, onChange, problems }: Props) {
  const t = useProfileTexts()
  const setAttribute = (name: string, source: Source | null) => {
    const { [name]: before, ...others } = draft.attributes
    onChange({ ...draft, attributes: source === null ? others : { ...draft.attributes, [name]: source } })
  }
  return (
    <section className="stack" aria-label={t.choices}>
      <h3>{t.choices}</h3>
      <Field
        label={t.topic}
        hint={t.topicHint}
        name="topic"
        value={draft.topic}
        onChange={topic => onChange({ ...draft, topic })}
        isRequired
      />
      <ProblemAt at="topic" problems={problems} />
      {FIELDS.map(name => (
        <SourceFields
          key={name}
          at={`fields.${name}`}
          label={t.fields[name]}
          field={name}
          source={draft.fields[name]}
          onChange={source => onChange({ ...draft, fields: { ...draft.fields, [name]: source } })}
          problems={problems}
          none={name === 'timestamp' ? t.noTime : t.notChosen}
        />
      ))}
      <SourceFields
        at="device"
        label={t.device}
        source={draft.device}
        onChange={device => onChange({ ...draft, device })}
        problems={problems}
        none={t.notChosen}
      />
      <p className="hint">{t.deviceHint}</p>
      {Object.entries(draft.attributes).map(([name, source]) => (
        <SourceFields
          key={name}
          at={`attributes.${name}`}
          label={t.attribute(name)}
          source={source}
          onChange={next => setAttribute(name, next)}
          problems={problems}
          none={t.notChosen}
        />
      ))}
      {draft.each !== null && (
        <div className="source">
          <div className="source-main">
            <Field
              label={t.each}
              name="each"
              value={draft.each}
              onChange={each => onChange({ ...draft, each: each || null })}
            />
            <IconButton
              icon="close"
              label={t.removeOf(t.each)}
              onPress={() => onChange(setEach(draft, null))}
            />
          </div>
          <ProblemAt at="each" problems={problems} />
        </div>
      )}
      {draft.when.length > 0 && <Conditions draft={draft} onChange={onChange} problems={problems} />}
    </section>
  )
}

function Conditions({ draft, onChange, problems }: Props) {
  const t = useProfileTexts()
  const set = (index: number, next: Condition | null) =>
    onChange({
      ...draft,
      when: draft.when.flatMap((one, at) => (at !== index ? one : next === null ? [] : next)),
    })
  return (
    <fieldset className="conditions stack">
      <legend>{t.conditions}</legend>
      {draft.when.map((condition, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the order of conditions does not change
        <div key={index} className="source">
          <ConditionFields condition={condition} at={`when.${index}`} onChange={next => set(index, next)} />
          <ProblemAt at={`when.${index}`} problems={problems} />
        </div>
      ))}
    </fieldset>
  )
}

const TESTS = ['exists', 'missing', 'equals', 'not', 'oneOf'] as const

function ConditionFields(props: {
  at: string
  condition: Condition
  onChange: (condition: Condition | null) => void
}) {
  const { at, condition, onChange } = props
  const t = useProfileTexts()
  const { form } = useTexts()
  const { from, is, value } = condition
  const needsValue = is !== 'exists' && is !== 'missing'
  const read = (text: string) => (is === 'oneOf' ? text.split(',').map(readScalar) : readScalar(text))
  const change = (chosen: Condition['is']) => {
    if (chosen === 'exists' || chosen === 'missing') return onChange({ from, is: chosen })
    const [first = ''] = Array.isArray(value) ? value : [value ?? '']
    onChange({ from, is: chosen, value: chosen === 'oneOf' ? [value ?? ''].flat() : first })
  }
  return (
    <div className="source-main">
      <Field
        label={t.condition}
        name={`${at}.from`}
        value={from}
        onChange={text => onChange({ ...condition, from: text })}
      />
      <Choose
        label={t.condition}
        compact
        choices={TESTS.map(id => ({ id, name: t.tests[id] }))}
        value={is}
        onChange={id => change(id as Condition['is'])}
      />
      {needsValue && (
        <Field
          label={t.value}
          name={`${at}.value`}
          value={[value].flat().map(writeScalar).join(', ')}
          onChange={text => onChange({ ...condition, value: read(text) })}
          placeholder={form.none}
        />
      )}
      <IconButton icon="close" label={t.removeOf(t.condition)} onPress={() => onChange(null)} />
    </div>
  )
}
