import { useTexts } from '../texts/texts.tsx'
import { useEscape, useReturnFocus } from './focus.ts'
import { ActionButton } from './parts.tsx'

export interface QuestionProps {
  ask: string
  yes: string
  no?: string
  isPending?: boolean
  onYes: () => void
  onNo: () => void
}

/** Asks before an irreversible action, in place of the buttons. The focus is on the answer that changes nothing. */
export function Question({ ask, yes, no, isPending, onYes, onNo }: QuestionProps) {
  const { form } = useTexts()
  useReturnFocus()
  useEscape(onNo)
  return (
    <div className="stack" role="alert">
      <p>{ask}</p>
      <div className="row-of-buttons">
        <ActionButton looks="danger" isPending={isPending} onPress={onYes}>
          {yes}
        </ActionButton>
        <ActionButton autoFocus onPress={onNo}>
          {no ?? form.cancel}
        </ActionButton>
      </div>
    </div>
  )
}
