import '../styles/pages.css'
import { useSyncExternalStore } from 'react'
import { Checkbox } from 'react-aria-components'
import { Icon } from '../parts/icon.tsx'
import { Modal } from '../parts/modal.tsx'
import { getPreferences, onPreferences, setPreferences } from '../preferences.ts'
import { keyTexts as de } from '../texts/de/keys.ts'
import { keyTexts as en } from '../texts/en/keys.ts'
import { useOwnTexts } from '../texts/texts.tsx'

const TEXTS = { en, de }
const isMac = /Mac|iPhone|iPad/.test(navigator.platform)

/** Lists the keys of the console, and switches single ones on and off. */
export default function KeysDialog({ onClose }: { onClose: () => void }) {
  const t = useOwnTexts(TEXTS)
  const { singleKeys } = useSyncExternalStore(onPreferences, getPreferences)
  const rows = [
    [isMac ? '⌘ K' : 'Ctrl K', t.palette],
    ['/', t.search],
    ['J', t.next],
    ['K', t.previous],
    ['F', t.follow],
    ['A', t.assign],
    ['N', t.newTask],
    ['Esc', t.close],
    ['?', t.help],
  ]
  return (
    <Modal title={t.title} onClose={onClose}>
      <dl className="keys">
        {rows.map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <Checkbox
        className="check"
        isSelected={singleKeys}
        onChange={singleKeys => setPreferences({ singleKeys })}
      >
        <span className="box">
          <Icon name="check" />
        </span>
        {t.single}
      </Checkbox>
    </Modal>
  )
}
