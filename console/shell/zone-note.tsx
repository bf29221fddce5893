import { useWorkspace } from '../api/workspace.ts'
import { serverNow } from '../clock.ts'
import { Icon } from '../parts/icon.tsx'
import { zoneTexts as de } from '../texts/de/zone.ts'
import { zoneTexts as en } from '../texts/en/zone.ts'
import { useOwnTexts } from '../texts/texts.tsx'

const TEXTS = { en, de }

const clockOf = (timeZone?: string) =>
  new Intl.DateTimeFormat('en', { dateStyle: 'short', timeStyle: 'short', timeZone }).format(serverNow())

/** Names the zone of all times, where its clocks show another time than the reader's. */
export default function ZoneNote() {
  const t = useOwnTexts(TEXTS)
  const { timeZone } = useWorkspace()
  if (clockOf(timeZone) === clockOf()) return null
  const text = t.times(timeZone.replaceAll('_', ' '))
  return (
    <p className="live-badge" title={text}>
      <Icon name="clock" />
      <span>{text}</span>
    </p>
  )
}
