import type { ReactNode } from 'react'
import { Form } from 'react-aria-components'
import { useFieldTexts, type useFormErrors } from './form-errors.ts'

interface Props {
  /** The errors of the last answer, which stand at their fields. */
  state: Pick<ReturnType<typeof useFormErrors>, 'form' | 'errors'>
  /** Texts in place of the usual ones, by the name of the field. They are shown where the field has an error. */
  instead?: Readonly<Record<string, string>>
  /** Called with the values of its named fields. */
  onSubmit: (values: FormData) => void
  className?: string
  children: ReactNode
}

/** A form that shows the errors of the server's answer at its fields (`useFormErrors`). It is sent by Enter and by its button. */
export function FieldForm({ state: { form, errors }, instead, onSubmit, className, children }: Props) {
  const texts = useFieldTexts(errors.fields, instead)
  return (
    <Form
      ref={form}
      {...(className !== undefined && { className })}
      validationErrors={texts}
      onSubmit={event => {
        event.preventDefault()
        onSubmit(new FormData(event.currentTarget))
      }}
    >
      {children}
    </Form>
  )
}
