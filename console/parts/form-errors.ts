import { useEffect, useRef, useState } from 'react'
import { Failure } from '../api/failure.ts'

interface FormErrors {
  /** The server's sentences, by the name of the field that shows them. */
  fields: Record<string, string>
  /** Whether some error belongs to no field of the form, so that the form shows it elsewhere. */
  hasOthers: boolean
}

const NONE: FormErrors = { fields: {}, hasOthers: false }
const FIRST_INVALID = '[data-invalid] :is(input, textarea, button)'

const focusFirst = (form: HTMLFormElement | null) => form?.querySelector<HTMLElement>(FIRST_INVALID)?.focus()

/** The errors of a form that the server refused, each at its field. The first invalid field gets the focus. */
export function useFormErrors() {
  const form = useRef<HTMLFormElement>(null)
  const [errors, setErrors] = useState(NONE)
  useEffect(() => {
    if (Object.keys(errors.fields).length > 0) focusFirst(form.current)
  }, [errors])
  return {
    form,
    errors,
    focusFirst: () => focusFirst(form.current),
    clear: () => setErrors(NONE),
    show: (error: Error) => {
      const names = [...(form.current?.elements ?? [])].map(one => one.getAttribute('name') ?? '')
      setErrors(error instanceof Failure ? placeAt(new Set(names), error) : { ...NONE, hasOthers: true })
    },
  }
}

/** In a list that is one field, the server names the entry. The sentence begins with its number then, counted from 1. */
function placeAt(names: ReadonlySet<string>, failure: Failure): FormErrors {
  const fields: Record<string, string> = {}
  let hasOthers = Object.keys(failure.fields).length === 0
  for (const [path, message] of Object.entries(failure.fields)) {
    const [, list = '', entry] = /^(.+?)\.(\d+)(?:\.|$)/.exec(path) ?? []
    if (names.has(path)) fields[path] = message
    else if (names.has(list)) fields[list] ??= `${Number(entry) + 1}: ${message}`
    else hasOthers = true
  }
  return { fields, hasOthers }
}
