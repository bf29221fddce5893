import { createContext, use } from 'react'
import { FieldError } from 'react-aria-components'
import { useTexts } from '../texts/texts.tsx'
import { translate } from '../texts/translate.ts'

/** Whether it is the server that says what is wrong with the fields of a form; the page itself speaks its own language. */
export const ErrorsFromServer = createContext(true)

/** What the server said, in the language of the page; where that has no such sentence, in the server's, and marked as that. */
export function ServerSentence({ sentence }: { sentence: string }) {
  return translate(sentence, useTexts().server) ?? <span lang="en">{sentence}</span>
}

/** What is wrong with a field. */
export function FieldErrorText() {
  const { form } = useTexts()
  const isServers = use(ErrorsFromServer)
  return (
    <FieldError className="field-error">
      {({ validationDetails, validationErrors }) => {
        if (validationDetails.valueMissing) return form.required
        const said = validationErrors.join(' ')
        return isServers ? <ServerSentence sentence={said} /> : said
      }}
    </FieldError>
  )
}
