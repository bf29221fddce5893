import { useState } from 'react'
import { Failure } from '../../api/failure.ts'
import { readName } from '../../api/lists.ts'
import type { KindName } from '../../kinds.ts'
import { useTexts } from '../../texts/texts.tsx'

/** The kind of record that a field refers to. */
const KIND_OF: { [field: string]: KindName | undefined } = {
  hubId: 'hubs',
  profileId: 'tracker-profiles',
  deviceId: 'devices',
  driverId: 'users',
  vehicleId: 'vehicles',
  teamId: 'teams',
  assigneeId: 'users',
}

export interface RecordDraft<Whole> {
  isChanged: boolean
  /**
   * The values that somebody else has saved meanwhile for fields that are changed here, until one of both versions is chosen.
   */
  theirs: object | null
  takeTheirs: () => void
  /** Reads the current record; null for a new one. Throws once if somebody else has changed the same fields. */
  agree: () => Promise<Whole | null>
}

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

/** The input of a form, beside the values at its start and those that others save meanwhile. */
export function useRecordDraft<Whole extends { _id: string }, Values extends object>(
  record: Whole | null,
  valuesOf: (record: Whole | null) => Values,
  read: (id: string) => Promise<Whole>,
) {
  type Name = keyof Values & string
  const { form: t } = useTexts()
  const [first] = useState(() => valuesOf(record))
  const [values, setValues] = useState(first)
  /** The values at the start, or those that somebody else has saved since and that the form has shown. */
  const [known, setKnown] = useState(first)
  const [theirs, setTheirs] = useState<Partial<Values> | null>(null)
  const changed = (Object.keys(values) as Name[]).filter(name => !isSame(values[name], known[name]))
  const agree = async () => {
    setTheirs(null)
    if (!record) return null
    const whole = await read(record._id)
    const now = valuesOf(whole)
    // Lists are merged: both people's additions and removals count.
    const overtaken = changed.filter(
      name => ![known, values].some(one => isSame(one[name], now[name])) && !Array.isArray(now[name]),
    )
    if (overtaken.length === 0) return whole
    const errors = overtaken.map(async path => ({ path, message: await sayTheirs(t, path, now[path]) }))
    const failure = new Failure(409, { message: t.overtaken }, await Promise.all(errors))
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
    /** The props of a field in the form. */
    field: <N extends Name>(name: N) => ({ name, value: values[name], onChange: set(name) }),
    isChanged: changed.length > 0,
    /** The changed fields only. The others may refer to records that the role cannot see and must not name. */
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
