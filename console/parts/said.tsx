import { createContext, use } from 'react'
import { FieldError } from 'react-aria-components'
import { translate } from '../texts/server.ts'
import { useTexts } from '../texts/texts.tsx'

/** Whether it is the server that says what is wrong with the fields of a form; the page itself speaks its own language. */
export const SaidByServer = createContext(true)

/** What the server said, in the language of the page; where that has no such sentence, in the server's, and marked as that. */
export function Said({ sentence }: { sentence: string }) {
  return translate(sentence, useTexts().server) ?? <span lang="en">{sentence}</span>
}

/** What is wrong with a field. */
export function FieldSays() {
  const { form } = useTexts()
  const isServers = use(SaidByServer)
  return (
    <FieldError className="field-error">
      {({ validationDetails, validationErrors }) => {
        if (validationDetails.valueMissing) return form.required
        const said = validationErrors.join(' ')
        return isServers ? <Said sentence={said} /> : said
      }}
    </FieldError>
  )
}
