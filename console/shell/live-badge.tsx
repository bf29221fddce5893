import type { Fleet } from '../live/fleet.ts'
import { useLive, useNow } from '../live/live.tsx'
import { useFormat, useTexts } from '../texts/texts.tsx'

/** The state of the live connection. */
export function LiveBadge() {
  const { state } = useLive()
  const { text, isSilent } = useLiveText()
  return (
    <p className={`live-badge ${state.name} ${isSilent ? 'silent' : ''}`} role="status" title={text}>
      <span className="dot" aria-hidden="true" />
      <span>{text}</span>
    </p>
  )
}

/** The warning above values that are no longer live. Empty while they are. Screen readers hear it from the badge. */
export function LostBar() {
  const texts = useTexts()
  const { state, known } = useLive()
  const { text } = useLiveText()
  if (!known || state.name === 'live') return null
  return (
    <p className="lost">
      <b>{text}</b> {state.name === 'offline' && texts.live.asOfThen}
    </p>
  )
}

/** A fleet in which nobody has a fix as new as this is silent, although the connection is live. */
const SILENT_AFTER_MS = 120_000
const LOOKED_AT_EVERY_MS = 10_000

/** The time of the newest fix where no subject has had one lately; null while any of them sends, and where there is none. */
function useSilence(): number | null {
  const { fleet, state } = useLive()
  const now = useNow(LOOKED_AT_EVERY_MS)
  if (state.name !== 'live' || fleet.size === 0) return null
  const newest = newestFixOf(fleet)
  return now - newest > SILENT_AFTER_MS ? newest : null
}

function newestFixOf({ columns, size }: Fleet): number {
  let newest = Number.NEGATIVE_INFINITY
  for (let slot = 0; slot < size; slot++) newest = Math.max(newest, columns.timestamp[slot] as number)
  return newest
}

function useLiveText(): { text: string; isSilent: boolean } {
  const { live: t } = useTexts()
  const format = useFormat()
  const { state } = useLive()
  const silentSince = useSilence()
  const text =
    silentSince !== null
      ? t.silent(format.since(silentSince))
      : state.name === 'offline'
        ? t.offline(format.since(state.since))
        : state.name === 'catching-up'
          ? t.catchingUp
          : t[state.name]
  return { text, isSilent: silentSince !== null }
}
