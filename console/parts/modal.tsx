import type { ReactNode } from 'react'
import { Modal as AriaModal, Dialog, Heading, ModalOverlay } from 'react-aria-components'
import { useTexts } from '../texts/texts.tsx'
import { IconButton } from './parts.tsx'

export function Modal(props: { title: string; onClose: () => void; wide?: boolean; children: ReactNode }) {
  const { title, onClose, wide, children } = props
  const texts = useTexts()
  return (
    <ModalOverlay className="modal-overlay" isOpen isDismissable onOpenChange={open => !open && onClose()}>
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
