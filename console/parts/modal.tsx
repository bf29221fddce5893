import { type ReactNode, useEffect, useRef, useState } from 'react'
import { Modal as AriaModal, Dialog, Heading, ModalOverlay } from 'react-aria-components'
import { useTexts } from '../texts/texts.tsx'
import { useEscape } from './focus.ts'
import { ActionButton, IconButton } from './parts.tsx'
import { useUnsaved } from './unsaved.ts'

/**
 * The element that had the focus before a dialog opened. A dialog that replaces another one returns the focus to the same
 * element.
 */
const openers = new WeakMap<Element, Element | null>()

/** Returns a ref for the element of a dialog. */
function useOpener() {
  const [opener] = useState(() => {
    const { activeElement } = document
    const before = activeElement?.closest('.modal')
    return before ? (openers.get(before) ?? null) : activeElement
  })
  useEffect(() => {
    return () => {
      requestAnimationFrame(() => {
        if (document.activeElement === document.body && opener instanceof HTMLElement) opener.focus()
      })
    }
  }, [opener])
  return (dialog: Element | null) => {
    if (dialog) openers.set(dialog, opener)
  }
}

interface Props {
  title: string
  onClose: () => void
  wide?: boolean
  /** For a secret that is shown only once: only a button closes the dialog, and Escape focuses that button. */
  isKept?: boolean
  /** Whether a button at the end closes it. */
  hasDone?: boolean
  children: ReactNode
}

export function Modal({ title, onClose, wide, isKept = false, hasDone, children }: Props) {
  const texts = useTexts()
  const end = useRef<HTMLDivElement>(null)
  const [isAsked, setAsked] = useState(false)
  const keepOpener = useOpener()
  const letGo = useUnsaved(isKept, 'shown')
  const close = () => {
    letGo()
    onClose()
  }
  useEscape(() => {
    if (!isKept) return onClose()
    setAsked(true)
    end.current?.querySelector('button')?.focus()
  })
  return (
    <ModalOverlay
      className="modal-overlay"
      isOpen
      isDismissable={!isKept}
      isKeyboardDismissDisabled
      onOpenChange={open => !open && onClose()}
    >
      <AriaModal className={wide ? 'modal wide' : 'modal'} ref={keepOpener}>
        <Dialog className="dialog">
          <header className="dialog-head">
            <Heading slot="title">{title}</Heading>
            <IconButton icon="close" label={texts.form.close} onPress={close} />
          </header>
          {children}
          {hasDone && (
            <div className="row-of-buttons dialog-end" ref={end}>
              <p role="status">{isKept && isAsked && texts.form.shownOnce}</p>
              <ActionButton onPress={close}>{texts.setup.done}</ActionButton>
            </div>
          )}
        </Dialog>
      </AriaModal>
    </ModalOverlay>
  )
}
