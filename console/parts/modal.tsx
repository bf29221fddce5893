import type { ReactNode } from 'react'
import { Modal as AriaModal, Dialog, Heading, ModalOverlay } from 'react-aria-components'
import { useTexts } from '../texts/texts.tsx'
import { useEscape } from './focus.ts'
import { IconButton } from './parts.tsx'

interface Props {
  title: string
  onClose: () => void
  wide?: boolean
  /** What is shown this once: only a button closes it. */
  isKept?: boolean
  children: ReactNode
}

export function Modal({ title, onClose, wide, isKept = false, children }: Props) {
  const texts = useTexts()
  useEscape(() => !isKept && onClose())
  return (
    <ModalOverlay
      className="modal-overlay"
      isOpen
      isDismissable={!isKept}
      isKeyboardDismissDisabled
      onOpenChange={open => !open && onClose()}
    >
      <AriaModal className={wide ? 'modal wide' : 'modal'}>
        <Dialog className="dialog">
          <header className="dialog-head">
            <Heading slot="title">{title}</Heading>
            <IconButton icon="close" label={texts.form.close} onPress={onClose} />
          </header>
          {children}
        </Dialog>
      </AriaModal>
    </ModalOverlay>
  )
}
