import { useMemo, useState } from 'react'
import { ChooseFound } from '../../../parts/choose-record.tsx'
import { type Choice, Field } from '../../../parts/parts.tsx'

/** More are found by a few letters. */
const SHOWN = 100

interface Props {
  label: string
  /** The name of its field, at which an error of the server is shown. */
  name?: string
  value: string
  onChange: (id: string) => void
  names: readonly Choice[]
  hint?: string
  isDisabled: boolean
}

/** A choice among hundreds of names, by a few letters of one: `berl` finds Europe/Berlin. */
export function ChooseName({ label, name, value, onChange, names, hint, isDisabled }: Props) {
  const [text, setText] = useState('')
  const wanted = text.trim().toLowerCase()
  const fitting = useMemo(
    () => names.filter(({ name }) => name.toLowerCase().includes(wanted)).slice(0, SHOWN),
    [names, wanted],
  )
  const chosen = names.find(({ id }) => id === value)?.name ?? value
  if (isDisabled) return <Field label={label} value={chosen} isReadOnly />
  return (
    <div className="hinted">
      <ChooseFound
        {...{ label, value, onChange, text, setText, chosen, ...(name && { name }) }}
        choices={fitting}
      />
      {hint !== undefined && <p className="hint">{hint}</p>}
    </div>
  )
}
