import { useMutation } from '@tanstack/react-query'
import { Link } from 'react-router'
import { answered, api } from '../../api/client.ts'
import { ActionButton, Trouble } from '../../parts/parts.tsx'
import { useName } from '../../parts/records.ts'
import { urls } from '../../urls.ts'
import { type Draft, toDraft } from './choices.ts'
import { type Sample, toMessages } from './samples.ts'
import { useProfileTexts } from './texts.ts'

interface Props {
  samples: readonly Sample[]
  isFirst: boolean
  onSuggested: (draft: Draft) => void
}

/** Asks for choices by the names and values of the messages, and says why they are these. */
export function Suggestion({ samples, isFirst, onSuggested }: Props) {
  const t = useProfileTexts()
  const messages = toMessages(samples)
  const suggest = useMutation({
    mutationFn: async () =>
      (await answered(api.POST('/api/v3/tracker-profile/suggest', { body: { messages } }))).data,
    onSuccess: ({ profile }) => {
      if (profile) onSuggested(toDraft(profile))
    },
  })
  const { data, error } = suggest
  const name = useName('tracker-profiles', data?.profileId)
  if (messages.length === 0) return null
  return (
    <div className="stack">
      <div className="suggest">
        <ActionButton
          looks={isFirst ? 'primary' : 'plain'}
          isPending={suggest.isPending}
          onPress={() => suggest.mutate()}
        >
          {t.suggest}
        </ActionButton>
        <p className="hint">{t.suggestHint}</p>
      </div>
      {error && <Trouble error={error} isDeed />}
      <div role="status">
        {data?.profileId && (
          <p className="good">
            {t.reads(name)} <Link to={urls.record('tracker-profiles', data.profileId)}>{t.openBuiltIn}</Link>
          </p>
        )}
        {data && !data.profileId && (
          <details className="more-fields" open>
            <summary>{t.because}</summary>
            <ul className="because" lang="en">
              {data.because.map(sentence => (
                <li key={sentence}>{sentence}</li>
              ))}
            </ul>
          </details>
        )}
      </div>
    </div>
  )
}
