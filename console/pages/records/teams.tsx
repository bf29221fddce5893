import { Suspense } from 'react'
import { useSearchParams } from 'react-router'
import { answered, api } from '../../api/client.ts'
import { lazyWithRetry } from '../../api/lazy-with-retry.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { ChooseRecord, RecordName } from '../../parts/choose-record.tsx'
import { ChooseRecords } from '../../parts/choose-records.tsx'
import { ActionButton, Field } from '../../parts/parts.tsx'
import { teamBoardTexts as de } from '../../texts/de/team-board.ts'
import { teamBoardTexts as en } from '../../texts/en/team-board.ts'
import { useFormat, useOwnTexts, useTexts } from '../../texts/texts.tsx'
import { useRecordDraft } from './record-draft.ts'
import { RecordForm } from './record-form.tsx'
import { RecordsPage } from './records-page.tsx'

const TEXTS = { en, de }
const TeamBoard = lazyWithRetry(() => import('./team-board.tsx'))

type Team = Awaited<ReturnType<typeof readTeam>>

const path = (id: string) => ({ params: { path: { id } } })
const readTeam = async (id: string) => (await answered(api.GET('/api/v3/team/{id}', path(id)))).data

export function Component() {
  const texts = useTexts()
  const format = useFormat()
  const t = texts.records
  const { may } = useWorkspace()
  const board = useOwnTexts(TEXTS)
  const [params, setParams] = useSearchParams()
  const mayArrange = may('update/team') && may('view/user')
  if (mayArrange && params.get('view') === 'board')
    return (
      <Suspense>
        <TeamBoard onClose={() => setParams({})} />
      </Suspense>
    )
  return (
    <RecordsPage
      kind="teams"
      actions={
        mayArrange && (
          <ActionButton icon="team" onPress={() => setParams({ view: 'board' })}>
            {board.open}
          </ActionButton>
        )
      }
      read={(query, signal) => answered(api.GET('/api/v3/teams', { params: { query }, signal }))}
      columns={[
        { id: 'name', title: t.name, sort: 'name', cell: team => team.name },
        {
          id: 'members',
          title: texts.kinds.teams.members,
          cell: team => format.count(team.memberIds.length),
        },
        { id: 'hub', title: texts.subject.hub, cell: team => <RecordName kind="hubs" id={team.hubId} /> },
      ]}
      filters={[
        { name: 'hubId', kind: 'hubs', label: texts.subject.hub },
        { name: 'userId', kind: 'users', label: texts.kinds.teams.members },
      ]}
      bulk={{
        hubOf: team => team.hubId,
        setHub: async ({ _id }, hubId) => {
          // PUT replaces the whole record: its people are those of now.
          const { name, memberIds, leaderIds } = await readTeam(_id)
          const body = { name, hubId, memberIds, leaderIds }
          return answered(api.PUT('/api/v3/team/{id}', { ...path(_id), body }))
        },
        remove: ({ _id }) => answered(api.DELETE('/api/v3/team/{id}', path(_id))),
      }}
      readOne={readTeam}
      form={(team, onClose) => <TeamForm team={team} onClose={onClose} />}
    />
  )
}

const draftOf = (team: Team | null) => ({
  name: team?.name ?? '',
  hubId: team?.hubId ?? '',
  memberIds: team?.memberIds ?? [],
  leaderIds: team?.leaderIds ?? [],
})

/** The list as it is now, with the additions and removals of this form. */
const mergeLists = (first: readonly string[], mine: readonly string[], now: readonly string[]): string[] => [
  ...new Set([
    ...now.filter(id => mine.includes(id) || !first.includes(id)),
    ...mine.filter(id => !first.includes(id)),
  ]),
]

/** A leader is a member too. */
const withLeaders = (memberIds: readonly string[], leaderIds: readonly string[]) => ({
  memberIds: [...new Set([...memberIds, ...leaderIds])],
  leaderIds: [...leaderIds],
})

function TeamForm({ team, onClose }: { team: Team | null; onClose: () => void }) {
  const texts = useTexts()
  const { may } = useWorkspace()
  const draft = useRecordDraft(team, draftOf, readTeam)
  const { values, first, field } = draft
  const t = texts.records
  const save = async (now: Team | null) => {
    const { memberIds, leaderIds } = values
    const own = { name: values.name, hubId: values.hubId || null }
    if (!now)
      return answered(api.POST('/api/v3/team', { body: { ...own, ...withLeaders(memberIds, leaderIds) } }))
    // PUT replaces the whole record: changes by others since the form was opened stay.
    // Who was removed from the team does not lead it, whoever has made them a leader meanwhile.
    const isRemoved = (id: string) => first.memberIds.includes(id) && !memberIds.includes(id)
    const people = withLeaders(
      mergeLists(first.memberIds, memberIds, now.memberIds),
      mergeLists(first.leaderIds, leaderIds, now.leaderIds).filter(id => !isRemoved(id)),
    )
    const body = { name: now.name, hubId: now.hubId, ...draft.changesOf(own), ...people }
    return answered(api.PUT('/api/v3/team/{id}', { ...path(now._id), body }))
  }
  const remove = team &&
    may('delete/team') && {
      ask: texts.kinds.teams.deleteAsk(team.name),
      run: () => answered(api.DELETE('/api/v3/team/{id}', path(team._id))),
    }
  return (
    <RecordForm
      name="teams"
      title={team?.name ?? texts.kinds.teams.create}
      draft={draft}
      onClose={onClose}
      save={may(team ? 'update/team' : 'create/team') ? save : undefined}
      remove={remove || undefined}
    >
      <Field label={t.name} {...field('name')} isRequired autoFocus={!team} />
      <ChooseRecord kind="hubs" label={texts.subject.hub} {...field('hubId')} />
      <ChooseRecords kind="users" label={texts.kinds.teams.members} {...field('memberIds')} />
      <ChooseRecords kind="users" label={texts.kinds.teams.leaders} {...field('leaderIds')} />
    </RecordForm>
  )
}
