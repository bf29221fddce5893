import { useState } from 'react'
import { Label, TextArea, TextField } from 'react-aria-components'
import { useWorkspace } from '../../api/workspace.ts'
import { ChooseRecord } from '../../parts/choose-record.tsx'
import { ActionButton, Choose, Field } from '../../parts/parts.tsx'
import { useFormat } from '../../texts/texts.tsx'
import { useMessages } from '../connections/queries.ts'
import { EMPTY, hasContent, type Sample, toSample } from './samples.ts'
import { useProfileTexts } from './texts.ts'

/** The interface stores as many with a profile. */
const MAX_SAMPLES = 20

export interface Shown {
  samples: readonly Sample[]
  /** The index of the message that is shown. */
  shown: number
}

interface Props extends Shown {
  onChange: (to: Shown) => void
}

/** The messages to try a profile with: pasted, or picked from those that came in. */
export function MessageEditor({ samples, shown, onChange }: Props) {
  const t = useProfileTexts()
  const { may } = useWorkspace()
  const sample = samples[shown] ?? EMPTY
  const set = (change: Partial<Sample>) =>
    onChange({ shown, samples: samples.map((one, at) => (at === shown ? { ...one, ...change } : one)) })
  const add = (one: Sample) => {
    // An empty form is filled; otherwise the message is added.
    const isFree = !hasContent(sample)
    const next = isFree ? samples.map((old, at) => (at === shown ? one : old)) : [...samples, one]
    onChange({ samples: next, shown: isFree ? shown : next.length - 1 })
  }
  const remove = () => {
    const left = samples.filter((_, at) => at !== shown)
    onChange({ samples: left.length > 0 ? left : [EMPTY], shown: Math.max(0, shown - 1) })
  }
  return (
    <section className="stack" aria-label={t.messages}>
      <h3>{t.messages}</h3>
      {samples.length > 1 && (
        <Choose
          label={t.shownMessage}
          choices={samples.map((one, at) => ({
            id: String(at),
            name: `${t.message(String(at + 1))} ${one.topic}`.trim(),
          }))}
          value={String(shown)}
          onChange={id => onChange({ samples, shown: Number(id) })}
        />
      )}
      <TextField className="field lines" value={sample.payload} onChange={payload => set({ payload })}>
        <Label>{t.payload}</Label>
        <TextArea rows={6} spellCheck="false" placeholder='{"lat": 52.52, "lon": 13.405, "speed": 43}' />
      </TextField>
      <Field
        label={t.messageTopic}
        hint={t.messageTopicHint}
        placeholder="trackers/352093081452251/position"
        value={sample.topic}
        onChange={topic => set({ topic })}
      />
      {may('view/connection') && <Pick onPick={add} />}
      <div className="row-of-buttons">
        {hasContent(sample) && samples.length < MAX_SAMPLES && (
          <ActionButton
            icon="plus"
            onPress={() => onChange({ samples: [...samples, EMPTY], shown: samples.length })}
          >
            {t.addMessage}
          </ActionButton>
        )}
        {samples.length > 1 && (
          <ActionButton looks="quiet" onPress={remove}>
            {t.removeMessage}
          </ActionButton>
        )}
      </div>
    </section>
  )
}

function Pick({ onPick }: { onPick: (sample: Sample) => void }) {
  const t = useProfileTexts()
  const [id, setId] = useState('')
  return (
    <details className="more-fields">
      <summary>{t.pick}</summary>
      <div className="stack">
        <ChooseRecord kind="connections" label={t.pickFrom} value={id} onChange={setId} />
        {id !== '' && <CameIn key={id} id={id} onPick={onPick} />}
      </div>
    </details>
  )
}

function CameIn({ id, onPick }: { id: string; onPick: (sample: Sample) => void }) {
  const t = useProfileTexts()
  const format = useFormat()
  const messages = useMessages(id).data
  if (!messages) return null
  if (messages.length === 0) return <p className="hint">{t.pickNone}</p>
  return (
    <ul className="came-in">
      {messages.map(message => {
        const time = format.sinceSeconds(Date.parse(message.receivedAt))
        const topic = message.topic ?? t.request
        return (
          <li key={message._id}>
            <ActionButton looks="quiet" onPress={() => onPick(toSample(message))}>
              <span className="unseen">{t.pickOne}</span>
              <time dateTime={message.receivedAt}>{time}</time> {topic}
            </ActionButton>
          </li>
        )
      })}
    </ul>
  )
}
