import { useState } from 'react'
import { ChooseFound } from '../../parts/choose-record.tsx'
import { filterByName } from '../../parts/records.ts'
import { useTexts } from '../../texts/texts.tsx'
import { usePeople } from './task-queries.ts'
import { useTaskTexts } from './texts.ts'

/** A field for whom a task is given to. It needs no permission to see users. */
export function ChoosePerson(props: {
  label: string
  name: string
  value: string
  onChange: (userId: string) => void
}) {
  const { value } = props
  const t = useTaskTexts()
  const people = usePeople()
  const [text, setText] = useState('')
  const active = people
    .filter(({ status }) => status === 'active')
    .map(({ _id, name }) => ({ id: _id, name }))
  const found = filterByName(active, text.trim())
  return (
    <ChooseFound
      {...props}
      {...{ text, setText }}
      choices={text.trim() === '' ? [{ id: '', name: t.nobody }, ...found] : found}
      chosen={useNameIn(people, value) || t.nobody}
    />
  )
}

/** The name of somebody who has a task, or has done something with one. */
export function PersonName({ id }: { id: string }) {
  return useNameIn(usePeople(), id)
}

function useNameIn(people: ReturnType<typeof usePeople>, id: string): string {
  const { form } = useTexts()
  if (id === '') return ''
  return people.find(({ _id }) => _id === id)?.name ?? (people.length === 0 ? '…' : form.unknown)
}
