import { useState } from 'react'
import { answered, api } from '../../api/client.ts'
import { ChooseRecord, ChooseRecords, RecordName } from '../../parts/choose-record.tsx'
import { Field } from '../../parts/parts.tsx'
import { useWorkspace } from '../../shell/workspace.tsx'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { changesOf, RecordForm } from './record-form.tsx'
import { RecordsPage } from './records-page.tsx'

type Team = Awaited<ReturnType<typeof readTeam>>

const path = (id: string) => ({ params: { path: { id } } })
const readTeam = async (id: string) => (await answered(api.GET('/api/v3/team/{id}', path(id)))).data

export function Component() {
  const texts = useTexts()
  const format = useFormat()
  const { may } = useWorkspace()
  const t = texts.records
  return (
    <RecordsPage
      name="teams"
      title={texts.nav.teams}
      lead={t.teams.lead}
      create={may('create/team') ? t.teams.create : null}
      read={query => answered(api.GET('/api/v3/teams', { params: { query } }))}
      columns={[
        { id: 'name', title: t.name, cell: team => team.name },
        { id: 'members', title: t.teams.members, cell: team => format.count(team.memberIds.length) },
        { id: 'hub', title: texts.subject.hub, cell: team => <RecordName kind="hubs" id={team.hubId} /> },
      ]}
      readOne={readTeam}
      form={(team, onClose) => <TeamForm team={team} onClose={onClose} />}
    />
  )
}

function TeamForm({ team, onClose }: { team: Team | null; onClose: () => void }) {
  const texts = useTexts()
  const { may } = useWorkspace()
  const [name, setName] = useState(team?.name ?? '')
  const [hubId, setHubId] = useState(team?.hubId ?? '')
  const [memberIds, setMemberIds] = useState<string[]>(team?.memberIds ?? [])
  const t = texts.records
  const save = async () => {
    const own = { name, hubId: hubId || null }
    if (!team) return answered(api.POST('/api/v3/team', { body: { ...own, memberIds } }))
    // All of it is replaced: what somebody else has made of it since it was opened stays.
    const { data: now } = await answered(api.GET('/api/v3/team/{id}', path(team._id)))
    const added = memberIds.filter(id => !team.memberIds.includes(id))
    const kept = now.memberIds.filter(id => memberIds.includes(id) || !team.memberIds.includes(id))
    const members = [...new Set([...kept, ...added])]
    // Who is no member any more leads no more.
    const leaderIds = now.leaderIds.filter(id => members.includes(id))
    const body = { name: now.name, hubId: now.hubId, ...changesOf(own, team), memberIds: members, leaderIds }
    return answered(api.PUT('/api/v3/team/{id}', { ...path(team._id), body }))
  }
  const remove = team &&
    may('delete/team') && {
      ask: t.teams.deleteAsk(team.name),
      run: () => answered(api.DELETE('/api/v3/team/{id}', path(team._id))),
    }
  return (
    <RecordForm
      name="teams"
      title={team?.name ?? t.teams.create}
      values={{ name, hubId, memberIds }}
      onClose={onClose}
      save={may(team ? 'update/team' : 'create/team') ? save : undefined}
      remove={remove || undefined}
    >
      <Field label={t.name} name="name" value={name} onChange={setName} isRequired autoFocus={!team} />
      <ChooseRecord kind="hubs" label={texts.subject.hub} name="hubId" value={hubId} onChange={setHubId} />
      <ChooseRecords
        kind="users"
        label={t.teams.members}
        name="memberIds"
        value={memberIds}
        onChange={setMemberIds}
      />
    </RecordForm>
  )
}
