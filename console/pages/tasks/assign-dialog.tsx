import '../../styles/choose-record.css'
import { useState } from 'react'
import { Autocomplete, Input, ListBox, ListBoxItem, SearchField } from 'react-aria-components'
import { Icon } from '../../parts/icon.tsx'
import { Modal } from '../../parts/modal.tsx'
import type { Target, Task } from './task.ts'
import { usePeople, useTeams, useVehicles } from './task-queries.ts'
import { useTaskTexts } from './texts.ts'

interface Option {
  id: string
  name: string
  kind: string
  target: Target
}

/** More are not read; another letter leaves fewer. */
const MAX_OPTIONS = 12

const fold = (text: string) => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()

/** Options whose words begin with the text first, then those that contain it. */
function findOptions(options: readonly Option[], text: string): Option[] {
  const wanted = fold(text.trim())
  const begins = ({ name }: Option) =>
    fold(name)
      .split(/\s+/)
      .some(word => word.startsWith(wanted))
  const found = options.filter(({ name }) => fold(name).includes(wanted))
  return [...found.filter(begins), ...found.filter(option => !begins(option))].slice(0, MAX_OPTIONS)
}

/** Whom the tasks are given to: a few letters and Enter. */
export function AssignDialog(props: {
  tasks: readonly Task[]
  onChoose: (target: Target, name: string) => void
  onClose: () => void
}) {
  const { tasks, onChoose, onClose } = props
  const t = useTaskTexts()
  const [people, vehicles, teams] = [usePeople(), useVehicles(), useTeams()]
  const [text, setText] = useState('')
  // Only the members of a task's team can be given it.
  const limits = teams.filter(({ _id }) => tasks.some(({ teamId }) => teamId === _id))
  const isAllowed = (id: string) => limits.every(({ memberIds }) => memberIds.includes(id))
  const options: Option[] = [
    ...people
      .filter(({ _id, status }) => status === 'active' && isAllowed(_id))
      .map(({ _id, name }) => ({ id: `user:${_id}`, name, kind: t.person, target: { assigneeId: _id } })),
    ...vehicles.map(({ _id, name, driverId }) => {
      const driver = driverId && isAllowed(driverId) ? { assigneeId: driverId } : {}
      return { id: `vehicle:${_id}`, name, kind: t.vehicle, target: { vehicleId: _id, ...driver } }
    }),
    ...teams.map(({ _id, name }) => ({ id: `team:${_id}`, name, kind: t.team, target: { teamId: _id } })),
  ]
  const nobody = { id: 'nobody', name: t.takeAway, kind: '', target: { assigneeId: null, vehicleId: null } }
  const found = [...findOptions(options, text), ...(text === '' ? [nobody] : [])]
  const choose = (id: string) => {
    const option = found.find(one => one.id === id)
    if (option) onChoose(option.target, option === nobody ? t.nobody : option.name)
  }
  return (
    <Modal title={t.assignTitle(tasks.length, tasks[0]?.name ?? '')} onClose={onClose}>
      <div className="stack assign">
        <p className="hint">
          {limits[0] ? t.teamHint(limits.map(({ name }) => name).join(', ')) : t.assignHint}
        </p>
        <Autocomplete inputValue={text} onInputChange={setText}>
          <SearchField className="search" aria-label={t.assign} autoFocus>
            <Icon name="search" />
            <Input placeholder={t.assign} maxLength={100} />
          </SearchField>
          <ListBox
            className="menu"
            aria-label={t.assign}
            items={found}
            selectionMode="none"
            onAction={key => choose(String(key))}
            renderEmptyState={() => <p className="hint menu-note">{t.noneFound}</p>}
          >
            {option => (
              <ListBoxItem id={option.id} textValue={option.name} className="menu-item">
                <span>{option.name}</span>
                <small>{option.kind}</small>
              </ListBoxItem>
            )}
          </ListBox>
        </Autocomplete>
      </div>
    </Modal>
  )
}
