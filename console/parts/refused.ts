import { useEffect, useRef, useState } from 'react'
import { Failure } from '../api/failure.ts'

interface Refused {
  /** What is wrong, by the field at which it is said. */
  fields: Record<string, string>
  /** Whether some of it is of no field: then it has to be said elsewhere. */
  isMore: boolean
}

const NOTHING: Refused = { fields: {}, isMore: false }
const FIRST_REFUSED = '[data-invalid] :is(input, textarea, button)'

const focusFirst = (form: HTMLFormElement | null) => form?.querySelector<HTMLElement>(FIRST_REFUSED)?.focus()

/** What the server refuses of a form, put where somebody reads it; the first field of it has the focus. */
export function useRefused() {
  const form = useRef<HTMLFormElement>(null)
  const [refused, setRefused] = useState(NOTHING)
  useEffect(() => {
    if (Object.keys(refused.fields).length > 0) focusFirst(form.current)
  }, [refused])
  return {
    form,
    refused,
    focusFirst: () => focusFirst(form.current),
    clear: () => setRefused(NOTHING),
    place: (error: Error) => {
      const names = [...(form.current?.elements ?? [])].map(one => one.getAttribute('name') ?? '')
      setRefused(error instanceof Failure ? placeAt(new Set(names), error) : { ...NOTHING, isMore: true })
    },
  }
}

/** Of a list that is one field the server names the entry: it is said with its number, as people count. */
function placeAt(names: ReadonlySet<string>, failure: Failure): Refused {
  const fields: Record<string, string> = {}
  let isMore = Object.keys(failure.fields).length === 0
  for (const [path, message] of Object.entries(failure.fields)) {
    const [, list = '', entry] = /^(.+?)\.(\d+)(?:\.|$)/.exec(path) ?? []
    if (names.has(path)) fields[path] = message
    else if (names.has(list)) fields[list] ??= `${Number(entry) + 1}: ${message}`
    else isMore = true
  }
  return { fields, isMore }
}
