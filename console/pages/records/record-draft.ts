import { useState } from 'react'
import { OwnFailure } from '../../api/failure.ts'
import { readName } from '../../api/lists.ts'
import type { KindName } from '../../kinds.ts'
import { useTexts } from '../../texts/texts.tsx'

/** What a field names that holds an identifier. */
const KIND_OF: { [field: string]: KindName | undefined } = {
  hubId: 'hubs',
  deviceId: 'devices',
  driverId: 'users',
  vehicleId: 'vehicles',
}

export interface RecordDraft<Whole> {
  isChanged: boolean
  /** What somebody else has made meanwhile of what is changed here, until it is said which of them counts. */
  theirs: object | null
  takeTheirs: () => void
  /** The record as it is now, null of a new one. Throws where somebody else has changed the same, once. */
  agree: () => Promise<Whole | null>
}

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

/** What somebody has entered of a record, beside what was there first and what others make of it meanwhile. */
export function useRecordDraft<Whole extends { _id: string }, Values extends object>(
  record: Whole | null,
  valuesOf: (record: Whole | null) => Values,
  read: (id: string) => Promise<Whole>,
) {
  type Name = keyof Values & string
  const { form: t } = useTexts()
  const [first] = useState(() => valuesOf(record))
  const [values, setValues] = useState(first)
  /** As they were first, or as somebody else has changed them since and it was said here. */
  const [known, setKnown] = useState(first)
  const [theirs, setTheirs] = useState<Partial<Values> | null>(null)
  const changed = (Object.keys(values) as Name[]).filter(name => !isSame(values[name], known[name]))
  const agree = async () => {
    setTheirs(null)
    if (!record) return null
    const whole = await read(record._id)
    const now = valuesOf(whole)
    // A list is put together of what either has added and removed.
    const overtaken = changed.filter(
      name => ![known, values].some(one => isSame(one[name], now[name])) && !Array.isArray(now[name]),
    )
    if (overtaken.length === 0) return whole
    const errors = overtaken.map(async path => ({ path, message: await sayTheirs(t, path, now[path]) }))
    const failure = new OwnFailure(409, t.overtaken, await Promise.all(errors))
    const next = Object.fromEntries(overtaken.map(name => [name, now[name]])) as Partial<Values>
    setTheirs(next)
    setKnown({ ...known, ...next })
    throw failure
  }
  const set =
    <N extends Name>(name: N) =>
    (value: Values[N]) =>
      setValues(now => ({ ...now, [name]: value }))
  return {
    values,
    first,
    set,
    /** What its field in a form is given. */
    field: <N extends Name>(name: N) => ({ name, value: values[name], onChange: set(name) }),
    isChanged: changed.length > 0,
    /** What is changed here alone: the rest may be what the role cannot see, and so cannot name again. */
    changesOf: <Body extends { [name in keyof Body]: name extends Name ? unknown : never }>(body: Body) =>
      Object.fromEntries(
        Object.entries(body).filter(([name]) => changed.includes(name as Name)),
      ) as Partial<Body>,
    theirs,
    takeTheirs: () => {
      setValues(now => ({ ...now, ...theirs }))
      setTheirs(null)
    },
    agree,
  }
}

async function sayTheirs(
  t: ReturnType<typeof useTexts>['form'],
  field: string,
  value: unknown,
): Promise<string> {
  if (value === '') return t.theirsIsNone
  if (typeof value !== 'string') return t.theirs
  const kind = KIND_OF[field]
  if (!kind) return t.theirsIs(value)
  const name = await readName(kind, value).catch(() => null)
  return name === null ? t.theirs : t.theirsIs(name)
}
