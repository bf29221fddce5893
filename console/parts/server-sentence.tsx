import { createContext, use } from 'react'
import { FieldError } from 'react-aria-components'
import { useTexts } from '../texts/texts.tsx'
import { translate } from '../texts/translate.ts'

/** Whether the errors of a form are the server's sentences. Those of the page are already in its language. */
export const ErrorsFromServer = createContext(true)

/** A sentence of the server in the language of the page. Without a translation it stays English and is marked as that. */
export function ServerSentence({ sentence }: { sentence: string }) {
  return translate(sentence, useTexts().server) ?? <span lang="en">{sentence}</span>
}

/** The error about a field. */
export function FieldErrorText() {
  const { form } = useTexts()
  const isServers = use(ErrorsFromServer)
  return (
    <FieldError className="field-error">
      {({ validationDetails, validationErrors }) => {
        if (validationDetails.valueMissing) return form.required
        const sentence = validationErrors.join(' ')
        return isServers ? <ServerSentence sentence={sentence} /> : sentence
      }}
    </FieldError>
  )
}
