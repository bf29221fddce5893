import { createContext, type ReactNode, use, useCallback, useState } from 'react'
import { afterDialog } from '../parts/focus.ts'
import { Modal } from '../parts/modal.tsx'
import { Question } from '../parts/question.tsx'
import { hasUnsaved } from '../session.ts'
import { useTexts } from '../texts/texts.tsx'

type Leave = (title: string, go: () => void) => void

const Context = createContext<Leave>((_, go) => go())

/** Does what ends the session: after a question where something is typed and not saved. */
export const useLeave = (): Leave => use(Context)

export function LeavingProvider({ children }: { children: ReactNode }) {
  const { form } = useTexts()
  const [asked, setAsked] = useState<{ title: string; go: () => void } | null>(null)
  const stay = () => setAsked(null)
  const leave = useCallback<Leave>((title, go) => {
    if (!hasUnsaved()) return go()
    // The menu or the palette in which it was chosen gives the focus back first: there one is again who stays.
    afterDialog(() => setAsked({ title, go }))
  }, [])
  return (
    <Context value={leave}>
      {children}
      {asked && (
        <Modal title={asked.title} onClose={stay}>
          <Question
            ask={form.leaveAsk}
            yes={form.leave}
            no={form.stay}
            onYes={() => {
              stay()
              asked.go()
            }}
            onNo={stay}
          />
        </Modal>
      )}
    </Context>
  )
}
