import { useEffect, useMemo, useRef, useState } from 'react'
import { Failure, type Problem } from '../api/failure.ts'
import { describeField } from '../texts/errors.ts'
import { useTexts } from '../texts/texts.tsx'

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

/**
 * The errors of a form that the server refused, each at its field. The first invalid field gets the focus. An error disappears
 * when its field is changed, and not when the focus leaves: then the button would move under the pointer.
 */
export function useFormErrors() {
  const form = useRef<HTMLFormElement>(null)
  const [errors, setErrors] = useState(NONE)
  /** The number of the server's answers with errors. */
  const [answers, setAnswers] = useState(0)
  const hasFields = Object.keys(errors.fields).length > 0
  useEffect(() => {
    if (answers > 0) focusFirst(form.current)
  }, [answers])
  useEffect(() => {
    if (!hasFields) return
    const onInput = ({ target }: Event) => {
      const { name, form: of } = target as HTMLInputElement
      if (of === form.current) setErrors(now => without(now, name))
    }
    // At the document, above React's own listener: before it, the field would be drawn anew with its former text.
    document.addEventListener('input', onInput)
    return () => document.removeEventListener('input', onInput)
  }, [hasFields])
  return {
    form,
    errors,
    focusFirst: () => focusFirst(form.current),
    clear: () => setErrors(NONE),
    show: (error: Error) => {
      const names = [...(form.current?.elements ?? [])].map(one => one.getAttribute('name') ?? '')
      setErrors(error instanceof Failure ? placeAt(new Set(names), error) : { ...NONE, hasOthers: true })
      setAnswers(now => now + 1)
    },
  }
}

function without(errors: FormErrors, name: string): FormErrors {
  const { [name]: changed, ...fields } = errors.fields
  return changed ? { ...errors, fields } : errors
}

/**
 * The errors of a form's fields in the language of the page, which begin with the number of an entry if they are about one, or the
 * form's own texts. It is the same object until there are other errors: each new one would be shown as a new answer.
 */
export function useFieldTexts(
  fields: Record<string, PlacedProblem>,
  instead?: Readonly<Record<string, string>>,
): Record<string, string> {
  const { problems } = useTexts()
  return useMemo(
    () =>
      Object.fromEntries(
        Object.entries(fields).map(([name, problem]) => {
          const usual = (problem.entry ? `${problem.entry}: ` : '') + describeField(problem, problems)
          return [name, instead?.[name] ?? usual]
        }),
      ),
    [fields, instead, problems],
  )
}

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
