import { isAwaited } from '../../parts/awaited.ts'
import '../../styles/sample-data.css'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { answered, api } from '../../api/client.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { ActionButton, Trouble } from '../../parts/parts.tsx'
import { Question } from '../../parts/question.tsx'
import { sampleDataTexts } from '../../texts/sample-data.ts'
import { useLocale } from '../../texts/texts.tsx'

const KEY = ['sample-data']
const ASK_EVERY_MS = 1_000

/** How far the sample data is; asked again and again while it is created. */
const useSampleData = () => useSampleQuery().data

/** Whether it is known what there is to say about sample data. */
export const useIsSampleRead = (): boolean => !isAwaited(useSampleQuery())

function useSampleQuery() {
  const { may } = useWorkspace()
  return useQuery({
    queryKey: KEY,
    enabled: may('update/organization'),
    queryFn: async () => (await answered(api.GET('/api/v3/organization/sample-data'))).data,
    refetchInterval: query => (query.state.data?.status === 'creating' ? ASK_EVERY_MS : false),
  })
}

const useWords = () => {
  const locale = useLocale()
  const percent = new Intl.NumberFormat(locale, { style: 'percent' })
  return { t: sampleDataTexts(locale), showPercent: (part: number) => percent.format(part) }
}

/** Offers the sample company to an organization without a hub. */
export function SampleOffer() {
  const { t } = useWords()
  const queries = useQueryClient()
  const data = useSampleData()
  const create = useMutation({
    mutationFn: async () => (await answered(api.POST('/api/v3/organization/sample-data'))).data,
    onSettled: () => queries.invalidateQueries({ queryKey: KEY }),
  })
  if (!data?.isOffered) return null
  return (
    <>
      <h3>{t.title}</h3>
      <p className="hint">{t.lead}</p>
      <p>
        <ActionButton isPending={create.isPending} onPress={() => create.mutate()}>
          {t.create}
        </ActionButton>
      </p>
      {create.error && <Trouble error={create.error} isDeed />}
    </>
  )
}

/** How far the sample company is, and the button that deletes it after a question. */
export function SampleNote() {
  const { t, showPercent } = useWords()
  const queries = useQueryClient()
  const data = useSampleData()
  const status = data?.status
  // The records come first, and the history after them.
  const step = status === 'creating' && data && data.progress > 0 ? 'filling' : status
  const before = useRef(step)
  const [isAsking, setAsking] = useState(false)
  const remove = useMutation({
    mutationFn: () => answered(api.DELETE('/api/v3/organization/sample-data')),
    onSuccess: () => queries.invalidateQueries(),
    onSettled: () => setAsking(false),
    onError: () => queries.invalidateQueries({ queryKey: KEY }),
  })
  useEffect(() => {
    // Lists that were read meanwhile lack the records that came later.
    const last = before.current
    before.current = step
    if (last === undefined || last === step) return
    if (step === 'filling' || last === 'creating' || last === 'filling') void queries.invalidateQueries()
  }, [step, queries])
  if (!data || status === 'none') return null
  return (
    <div className="sample-note">
      {status === 'creating' && (
        <>
          <progress value={data.progress} aria-label={t.creating('')} />
          <span>{t.creating(showPercent(data.progress))}</span>
        </>
      )}
      {status === 'there' && !isAsking && <span>{t.there}</span>}
      {status === 'failed' && <span role="alert">{t.failed}</span>}
      {isAsking ? (
        <Question
          ask={t.ask}
          yes={t.yes}
          no={t.no}
          isPending={remove.isPending}
          onYes={() => remove.mutate()}
          onNo={() => setAsking(false)}
        />
      ) : (
        <ActionButton onPress={() => setAsking(true)}>{t.remove}</ActionButton>
      )}
      {remove.error && <Trouble error={remove.error} isDeed />}
    </div>
  )
}
