import '../../styles/team-board.css'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Button, type DropItem, GridList, GridListItem, useDragAndDrop } from 'react-aria-components'
import { readList, readName } from '../../api/lists.ts'
import { RecordName, RecordSearch } from '../../parts/choose-record.tsx'
import { Icon } from '../../parts/icon.tsx'
import { ActionButton, IconButton, Trouble } from '../../parts/parts.tsx'
import { useMatching, useName } from '../../parts/records.ts'
import { offerUndo } from '../../parts/undo.ts'
import { teamBoardTexts as de } from '../../texts/de/team-board.ts'
import { teamBoardTexts as en } from '../../texts/en/team-board.ts'
import { useOwnTexts, useTexts } from '../../texts/texts.tsx'
import { type Move, movePerson } from './team-members.ts'

const TEXTS = { en, de }

const PERSON = 'application/x-fieldline-person'
/** More teams are arranged in their forms. */
const SHOWN_TEAMS = 500
/** Moves run one after the other: each replaces a whole team that it has read before. */
const IN_TURN = { id: 'team-board' }

/** Teams beside each other, between which people are dragged, by the pointer and by the keyboard. */
export default function TeamBoard({ onClose }: { onClose: () => void }) {
  const texts = useTexts()
  const t = useOwnTexts(TEXTS)
  const queries = useQueryClient()
  const teams = useQuery({
    queryKey: ['teams', 'board'],
    queryFn: ({ signal }) => readList('teams', { limit: SHOWN_TEAMS, sort: 'name' }, signal),
  })
  const nameOf = (id: string | null) => teams.data?.find(team => team._id === id)?.name ?? texts.form.unknown
  const reload = () => queries.invalidateQueries({ queryKey: ['teams'] })
  const moveBack = useMutation({ scope: IN_TURN, mutationFn: movePerson, onSettled: reload })
  const move = useMutation({
    scope: IN_TURN,
    mutationFn: ({ one }: { one: Move; leads: boolean }) => movePerson(one),
    onSettled: reload,
    onSuccess: async (_, { one, leads }) => {
      const name = (await readName('users', one.userId).catch(() => null)) ?? texts.form.unknown
      const { from, to } = one
      const text =
        to === null
          ? t.removed(name, nameOf(from))
          : from === null
            ? t.added(name, nameOf(to))
            : t.moved(name, nameOf(from), nameOf(to))
      const undo = () => moveBack.mutateAsync({ userId: one.userId, from: to, to: from, leads })
      offerUndo({ text, undo })
    },
  })
  const [text, setText] = useState('')
  const people = useMatching('users', text)
  const drop = (one: Move) => {
    const isIn = teams.data?.find(({ _id }) => _id === one.to)?.memberIds.includes(one.userId)
    const leads = teams.data?.some(({ _id, leaderIds }) => _id === one.from && leaderIds.includes(one.userId))
    // Who leads a team is a member of the next one, and leads again only after an undo.
    if (one.from !== one.to && !(isIn && one.from === null)) move.mutate({ one, leads: leads ?? false })
  }
  return (
    <main className="page" id="content">
      <title>{`${texts.kinds.teams.title} · ${texts.product}`}</title>
      <header className="page-head">
        <h1>{texts.kinds.teams.title}</h1>
        <div className="end">
          <ActionButton icon="back" onPress={onClose}>
            {t.back}
          </ActionButton>
        </div>
        <p className="hint">{t.lead}</p>
      </header>
      {move.error && <Trouble error={move.error} isDeed />}
      {teams.error && !teams.data && <Trouble error={teams.error} onRetry={() => void teams.refetch()} />}
      {teams.data?.length === 0 && <p className="empty">{t.noTeams}</p>}
      <div className="board">
        <section className="board-column" aria-label={t.everybody}>
          <h2>{t.everybody}</h2>
          <RecordSearch value={text} onChange={setText} />
          <People team={null} name={t.everybody} ids={people.map(({ id }) => id)} onDrop={drop} />
        </section>
        {teams.data?.map(team => (
          <section key={team._id} className="board-column" aria-label={team.name}>
            <h2>{team.name}</h2>
            <People team={team._id} name={team.name} ids={team.memberIds} onDrop={drop} />
          </section>
        ))}
      </div>
    </main>
  )
}

interface PeopleProps {
  /** The team, or null for everybody. */
  team: string | null
  name: string
  ids: readonly string[]
  onDrop: (move: Move) => void
}

function People({ team, name, ids, onDrop }: PeopleProps) {
  const t = useOwnTexts(TEXTS)
  const { dragAndDropHooks } = useDragAndDrop({
    getItems: keys => [...keys].map(key => ({ [PERSON]: JSON.stringify({ userId: key, from: team }) })),
    acceptedDragTypes: [PERSON],
    getDropOperation: () => 'move',
    onRootDrop: async ({ items }) => {
      for (const one of await Promise.all(items.map(readPerson))) if (one) onDrop({ ...one, to: team })
    },
  })
  return (
    <GridList
      className="board-list"
      aria-label={name}
      items={ids.map(id => ({ id }))}
      dragAndDropHooks={dragAndDropHooks}
      renderEmptyState={() => <p className="hint">{t.nobody}</p>}
    >
      {({ id }) => <Person id={id} team={team} teamName={name} onDrop={onDrop} />}
    </GridList>
  )
}

type PersonProps = Pick<PeopleProps, 'team' | 'onDrop'> & { id: string; teamName: string }

function Person({ id, team, teamName, onDrop }: PersonProps) {
  const t = useOwnTexts(TEXTS)
  const name = useName('users', id)
  return (
    <GridListItem id={id} textValue={name} className="board-person">
      <Button slot="drag" className="button quiet square" aria-label={t.handle(name)}>
        <Icon name="list" />
      </Button>
      <span>
        <RecordName kind="users" id={id} />
      </span>
      {team !== null && (
        <IconButton
          icon="close"
          label={t.takeOut(name, teamName)}
          onPress={() => onDrop({ userId: id, from: team, to: null })}
        />
      )}
    </GridListItem>
  )
}

/** The dropped item may come from another page or program. */
async function readPerson(item: DropItem): Promise<Pick<Move, 'userId' | 'from'> | null> {
  if (item.kind !== 'text' || !item.types.has(PERSON)) return null
  try {
    const { userId, from } = JSON.parse(await item.getText(PERSON))
    return typeof userId === 'string' && (from === null || typeof from === 'string') ? { userId, from } : null
  } catch {
    return null
  }
}
