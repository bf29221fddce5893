import { useLive } from '../live/live.tsx'
import { useFormat, useTexts } from '../texts/texts.tsx'

/** The state of the live connection. */
export function LiveBadge() {
  const { state } = useLive()
  const text = useLiveText()
  return (
    <p className={`live-badge ${state.name}`} role="status" title={text}>
      <span className="dot" aria-hidden="true" />
      <span>{text}</span>
    </p>
  )
}

/** The warning above values that are no longer live. Empty while they are. Screen readers hear it from the badge. */
export function LostBar() {
  const texts = useTexts()
  const { state, known } = useLive()
  const text = useLiveText()
  if (!known || state.name === 'live') return null
  return (
    <p className="lost">
      <b>{text}</b> {state.name === 'offline' && texts.live.asOfThen}
    </p>
  )
}

function useLiveText(): string {
  const { live: t } = useTexts()
  const format = useFormat()
  const { state } = useLive()
  if (state.name === 'offline') return t.offline(format.since(state.since))
  return state.name === 'catching-up' ? t.catchingUp : t[state.name]
}
