import { useQuery } from '@tanstack/react-query'
import { answered, api } from '../../api/client.ts'
import { Failure, type Problem } from '../../api/failure.ts'
import { useDebounced } from '../../parts/use-debounced.ts'
import type { Choices } from './choices.ts'
import { hasContent, type Sample, toMessages } from './samples.ts'

export type Previewed = NonNullable<ReturnType<typeof usePreview>['read']>[number]

/** Either a stored profile, or choices that are not stored yet. */
export type Tried = { profileId: string } | { profile: Choices }

/** The messages as the profile reads them, while either changes, and what does not fit in the choices, by its path. */
export function usePreview(tried: Tried | null, samples: readonly Sample[]) {
  const messages = toMessages(samples)
  const asked = useDebounced(tried && messages.length > 0 ? JSON.stringify({ ...tried, messages }) : '')
  const { data, error } = useQuery({
    queryKey: ['tracker-preview', asked],
    enabled: asked !== '',
    queryFn: async ({ signal }) =>
      (await answered(api.POST('/api/v3/tracker-profile/preview', { body: JSON.parse(asked), signal }))).data,
    placeholderData: before => (asked === '' ? undefined : before),
  })
  const problems = error instanceof Failure ? placeProblems(error) : {}
  /** By the place of the message among the samples, of which empty ones are not sent. */
  const placeOf = (index: number) => samples.slice(0, index).filter(hasContent).length
  const isRead = (index: number) => samples[index] !== undefined && hasContent(samples[index])
  return {
    read: asked === '' || error ? undefined : data,
    readOf: (index: number) => (asked === '' || error || !isRead(index) ? undefined : data?.[placeOf(index)]),
    problems,
    /** An error that is about no choice. */
    error: error && Object.keys(problems).length === 0 ? error : null,
  }
}

const placeProblems = ({ fields }: Failure): { [path: string]: Problem } =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([path, problem]) =>
      path.startsWith('profile.') ? [[path.slice('profile.'.length), problem]] : [],
    ),
  )
