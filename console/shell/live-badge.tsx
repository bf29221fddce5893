import { useLive } from '../live/live.tsx'
import { useFormat, useTexts } from '../texts/texts.tsx'

/** Whether what is shown is what is. */
export function LiveBadge() {
  const texts = useTexts()
  const format = useFormat()
  const { state } = useLive()
  const said = {
    connecting: texts.live.connecting,
    live: texts.live.live,
    'catching-up': texts.live.catchingUp,
    forbidden: texts.live.forbidden,
    offline: state.name === 'offline' ? texts.live.offline(format.clock(state.since)) : '',
  }
  return (
    <p className={`live-badge ${state.name}`} role="status" title={said[state.name]}>
      <span className="dot" aria-hidden="true" />
      <span>{said[state.name]}</span>
    </p>
  )
}
