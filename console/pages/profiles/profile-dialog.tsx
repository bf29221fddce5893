import '../../styles/trackers.css'
import '../../styles/profiles.css'
import { useState } from 'react'
import { answered, api } from '../../api/client.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { Modal } from '../../parts/modal.tsx'
import { Field } from '../../parts/parts.tsx'
import { useTexts } from '../../texts/texts.tsx'
import { useRecordDraft } from '../records/record-draft.ts'
import { RecordForm } from '../records/record-form.tsx'
import { EMPTY_DRAFT, toChoices, toDraft } from './choices.ts'
import { ChoicesFields } from './choices-fields.tsx'
import { MessageEditor, type Shown } from './message-editor.tsx'
import { Preview } from './preview.tsx'
import { EMPTY, type Sample, toMessages, toSample } from './samples.ts'
import { Suggestion } from './suggestion.tsx'
import { useProfileTexts } from './texts.ts'
import { usePreview } from './use-preview.ts'
import { ValueTree } from './value-tree.tsx'

export type Profile = Awaited<ReturnType<typeof readProfile>>

const path = (id: string) => ({ params: { path: { id } } })
export const readProfile = async (id: string) =>
  (await answered(api.GET('/api/v3/tracker-profile/{id}', path(id)))).data

const samplesOf = (profile: Profile | null): readonly Sample[] => {
  const samples = profile?.sampleMessages.map(toSample) ?? []
  return samples.length > 0 ? samples : [EMPTY]
}

/** A built-in profile: what it reads from a message that somebody pastes. */
export function BuiltInDialog({ profile, onClose }: { profile: Profile; onClose: () => void }) {
  const t = useProfileTexts()
  const [shown, setShown] = useState<Shown>({ samples: [EMPTY], shown: 0 })
  const preview = usePreview({ profileId: profile._id }, shown.samples)
  return (
    <Modal title={profile.name} onClose={onClose} wide>
      <div className="profile-builder two-parts">
        <div className="stack">
          <p className="hint">{t.builtInLead}</p>
          <dl className="facts wide">
            <div>
              <dt>{t.topic}</dt>
              <dd>
                <code>{profile.topic}</code>
              </dd>
            </div>
          </dl>
          <MessageEditor {...shown} onChange={setShown} />
        </div>
        <Preview preview={preview} shown={shown.shown} hint={null} />
      </div>
    </Modal>
  )
}

/** A profile of the organization: messages, what each value is, and what is read. */
export function ProfileForm(props: { profile: Profile | null; from: Sample | null; onClose: () => void }) {
  const { profile, from, onClose } = props
  const texts = useTexts()
  const t = useProfileTexts()
  const { may } = useWorkspace()
  const draft = useRecordDraft(
    profile,
    given => ({
      name: given?.name ?? '',
      choices: given ? toDraft(given) : EMPTY_DRAFT,
      samples: samplesOf(given),
    }),
    readProfile,
  )
  const { values, set, field } = draft
  const { choices } = values
  const [shownAt, setShownAt] = useState(0)
  const samples = from && values.samples === draft.first.samples ? [from] : values.samples
  const whole = toChoices(choices)
  const preview = usePreview(whole && { profile: whole }, samples)
  const setSamples = (to: Shown) => {
    set('samples')(to.samples)
    setShownAt(to.shown)
  }
  const save = async () => {
    // Without a position the server says that both are missing, each at its place.
    const { fields, ...rest } = choices
    const body = { ...rest, fields, name: values.name, sampleMessages: toMessages(samples) } as never
    if (profile) return answered(api.PUT('/api/v3/tracker-profile/{id}', { ...path(profile._id), body }))
    return answered(api.POST('/api/v3/tracker-profile', { body }))
  }
  const remove = profile &&
    may('delete/device') && {
      ask: t.deleteAsk(profile.name),
      run: () => answered(api.DELETE('/api/v3/tracker-profile/{id}', path(profile._id))),
    }
  return (
    <RecordForm
      name="tracker-profiles"
      title={profile?.name ?? texts.kinds['tracker-profiles'].create}
      draft={draft}
      onClose={onClose}
      save={may(profile ? 'update/device' : 'create/device') ? save : undefined}
      remove={remove || undefined}
      wide
    >
      <Field label={texts.records.name} {...field('name')} isRequired autoFocus={!profile} />
      <div className="profile-builder three-parts">
        <div className="stack">
          <MessageEditor samples={samples} shown={shownAt} onChange={setSamples} />
          <Suggestion samples={samples} isFirst={whole === null} onSuggested={set('choices')} />
          <section className="stack" aria-label={t.values}>
            <h3>{t.values}</h3>
            <ValueTree sample={samples[shownAt] ?? EMPTY} draft={choices} onChange={set('choices')} />
          </section>
        </div>
        <ChoicesFields draft={choices} onChange={set('choices')} problems={preview.problems} />
        <Preview preview={preview} shown={shownAt} hint={whole === null ? t.previewHint : null} />
      </div>
    </RecordForm>
  )
}
