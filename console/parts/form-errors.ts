import { useEffect, useRef, useState } from 'react'
import { Failure, type Problem } from '../api/failure.ts'
import type { Texts } from '../texts/en/en.ts'
import { describeField } from '../texts/errors.ts'

interface FormErrors {
  /** The errors by the name of the field that shows them. */
  fields: Record<string, PlacedProblem>
  /** Whether some error belongs to no field of the form, so that the form shows it elsewhere. */
  hasOthers: boolean
}

interface PlacedProblem extends Problem {
  /** The entry of a list that the error is about, counted from 1. */
  entry?: number
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

/** The errors of a form's fields in the language of the page, which begin with the number of an entry if they are about one. */
export const describeFields = (fields: Record<string, PlacedProblem>, texts: Texts): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fields).map(([name, problem]) => [
      name,
      (problem.entry ? `${problem.entry}: ` : '') + describeField(problem, texts.problems),
    ]),
  )

/** In a list that is one field, the server names the entry. */
function placeAt(names: ReadonlySet<string>, failure: Failure): FormErrors {
  const fields: Record<string, PlacedProblem> = {}
  let hasOthers = Object.keys(failure.fields).length === 0
  for (const [path, problem] of Object.entries(failure.fields)) {
    const [, list = '', entry] = /^(.+?)\.(\d+)(?:\.|$)/.exec(path) ?? []
    if (names.has(path)) fields[path] = problem
    else if (names.has(list)) fields[list] ??= { ...problem, entry: Number(entry) + 1 }
    else hasOthers = true
  }
  return { fields, hasOthers }
}
