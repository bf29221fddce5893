import { useEffect, useState } from 'react'
import { Button, Dialog, Modal, ModalOverlay } from 'react-aria-components'
import { Icon } from '../parts/icon.tsx'
import { useTexts } from '../texts/texts.tsx'
import { Search } from './palette-search.tsx'

const isMac = /Mac|iPhone|iPad/.test(navigator.platform)

/** The palette leads to everything: by its button, and by Ctrl-K (Cmd-K on a Mac) from everywhere. */
export function Palette() {
  const { nav } = useTexts()
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const held = isMac ? event.metaKey : event.ctrlKey
      if (!held || event.altKey || event.shiftKey || event.key.toLowerCase() !== 'k') return
      event.preventDefault()
      setOpen(open => !open)
    }
    // In the capture phase, so that the palette opens from every field.
    window.addEventListener('keydown', onKeyDown, true)
    return () => window.removeEventListener('keydown', onKeyDown, true)
  }, [])
  return (
    <>
      <Button
        className="button plain palette-button"
        aria-keyshortcuts={isMac ? 'Meta+K' : 'Control+K'}
        onPress={() => setOpen(true)}
      >
        <Icon name="search" />
        <span>{nav.search}</span>
        <kbd>{isMac ? '⌘K' : 'Ctrl K'}</kbd>
      </Button>
      <ModalOverlay
        className="modal-overlay palette-overlay"
        isOpen={isOpen}
        isDismissable
        onOpenChange={setOpen}
      >
        <Modal className="modal palette">
          <Dialog className="palette-dialog" aria-label={nav.commands}>
            <Search onDone={() => setOpen(false)} />
          </Dialog>
        </Modal>
      </ModalOverlay>
    </>
  )
}
