import { answered, api } from '../../api/client.ts'
import { useRoles } from '../../api/roles.ts'
import { RecordName } from '../../parts/choose-record.tsx'
import { peopleTexts as de } from '../../texts/de/people.ts'
import { peopleTexts as en } from '../../texts/en/people.ts'
import { useFormat, useOwnTexts, useTexts } from '../../texts/texts.tsx'
import { RecordsPage } from './records-page.tsx'
import { UserForm } from './user-form.tsx'

const TEXTS = { en, de }

type User = Awaited<ReturnType<typeof readUser>>

const readUser = async (id: string) =>
  (await answered(api.GET('/api/v3/user/{id}', { params: { path: { id } } }))).data

/** These work in every hub, whichever hubs they are given. No other role may have their names. */
const IN_EVERY_HUB = ['Owner', 'Admin']
/** A cell has room for this number of names. */
const SHOWN_HUBS = 2

export function Component() {
  const texts = useTexts()
  const format = useFormat()
  const t = useOwnTexts(TEXTS)
  const roles = useRoles().data ?? []
  const statuses = Object.entries(t.statuses).map(([id, name]) => ({ id, name }))
  return (
    <RecordsPage
      kind="users"
      filters={[
        { name: 'status', label: t.status, choices: statuses, all: t.anyStatus },
        {
          name: 'roleId',
          label: t.role,
          choices: roles.map(({ _id, name }) => ({ id: _id, name })),
          all: t.anyRole,
        },
      ]}
      read={(query, signal) => answered(api.GET('/api/v3/users', { params: { query }, signal }))}
      columns={[
        { id: 'name', title: texts.records.name, sort: 'name', cell: user => user.name },
        { id: 'email', title: t.email, sort: 'email', cell: user => user.email, minor: true },
        { id: 'role', title: t.role, cell: user => user.role.name },
        { id: 'hubs', title: t.hubs, cell: user => <Hubs user={user} />, minor: true },
        {
          id: 'status',
          title: t.status,
          cell: user => <span className={`state-${user.status}`}>{t.statuses[user.status]}</span>,
        },
        {
          id: 'active',
          title: t.lastActive,
          sort: 'lastActiveAt',
          cell: user => (user.lastActiveAt ? format.ago(Date.parse(user.lastActiveAt)) : texts.units.never),
          minor: true,
        },
      ]}
      readOne={readUser}
      form={(user, onClose) => <UserForm user={user} read={readUser} onClose={onClose} />}
    />
  )
}

function Hubs({ user: { role, hubId } }: { user: User }) {
  const format = useFormat()
  const t = useOwnTexts(TEXTS)
  if (IN_EVERY_HUB.includes(role.name)) return t.everyHub
  if (hubId.length === 0) return '–'
  return (
    <>
      {hubId.slice(0, SHOWN_HUBS).map((id, at) => (
        <span key={id}>
          {at > 0 && ', '}
          <RecordName kind="hubs" id={id} />
        </span>
      ))}
      {hubId.length > SHOWN_HUBS && ` + ${format.count(hubId.length - SHOWN_HUBS)}`}
    </>
  )
}
