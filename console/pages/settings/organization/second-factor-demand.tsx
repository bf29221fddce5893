import { useMutation, useQueryClient } from '@tanstack/react-query'
import { answered, api } from '../../../api/client.ts'
import { ME, useWorkspace } from '../../../api/workspace.ts'
import { ActionButton, Trouble } from '../../../parts/parts.tsx'
import { Question } from '../../../parts/question.tsx'
import { secondFactorTexts as de } from '../../../texts/de/second-factor.ts'
import { secondFactorTexts as en } from '../../../texts/en/second-factor.ts'
import { useOwnTexts } from '../../../texts/texts.tsx'
import { ORGANIZATION, type Organization } from './query.ts'

const TEXTS = { en, de }
/** The others are counted. */
const NAMED = 5

/** Demands a second factor of everybody, after the question whom that shuts out. */
export function SecondFactorDemand({ organization }: { organization: Organization }) {
  const t = useOwnTexts(TEXTS)
  const queries = useQueryClient()
  const { user } = useWorkspace()
  const isOn = organization.settings.requireSecondFactor === true
  const look = useMutation({
    mutationFn: async () => (await answered(api.GET('/api/v3/organization/second-factor'))).data,
  })
  const save = useMutation({
    mutationFn: (requireSecondFactor: boolean) =>
      answered(api.PATCH('/api/v3/organization', { body: { settings: { requireSecondFactor } } })),
    onSuccess: async ({ data }) => {
      look.reset()
      queries.setQueryData(ORGANIZATION, data)
      // Whoever has demanded it without having one sets one up next.
      await queries.invalidateQueries({ queryKey: ME })
    },
  })
  const found = look.data
  const names = found?.users.slice(0, NAMED).map(({ name, email }) => `${name} (${email})`) ?? []
  const others = names.length === 0 ? 0 : (found?.total ?? 0) - names.length
  const isMe = found?.users.some(({ _id }) => _id === user._id)
  const ask = found && [
    found.total === 0 ? t.demandNobody : t.demandAsk(found.total, names.length > 0),
    [...names, ...(others > 0 ? [t.others(others)] : [])].join(', '),
    isMe ? t.alsoYou : '',
  ]
  return (
    <section className="sheet stack" aria-labelledby="second-factor-demand">
      <h2 id="second-factor-demand">{t.title}</h2>
      {isOn && <p>{t.isDemanded}</p>}
      <p className="hint">{t.demandLead}</p>
      {(look.error ?? save.error) && <Trouble error={look.error ?? save.error} isDeed />}
      {ask ? (
        <Question
          ask={ask.filter(part => part !== '').join(' ')}
          yes={t.demandYes}
          isPending={save.isPending}
          onYes={() => save.mutate(true)}
          onNo={() => look.reset()}
        />
      ) : (
        <div className="row-of-buttons">
          {isOn ? (
            <ActionButton isPending={save.isPending} onPress={() => save.mutate(false)}>
              {t.noLonger}
            </ActionButton>
          ) : (
            <ActionButton isPending={look.isPending} onPress={() => look.mutate()}>
              {t.demand}
            </ActionButton>
          )}
        </div>
      )}
    </section>
  )
}
