import type { BuiltInProfile } from '../profile.ts'
import { chirpstack } from './chirpstack.ts'
import { flespi } from './flespi.ts'
import { homeAssistant } from './home-assistant.ts'
import { meshtastic } from './meshtastic.ts'
import { notehub } from './notehub.ts'
import { sigfox } from './sigfox.ts'
import { teltonika } from './teltonika.ts'
import { traccar } from './traccar.ts'
import { ttn } from './ttn.ts'

/** The built-in profiles by their identifier. */
export const BUILT_IN = {
  ttn,
  chirpstack,
  meshtastic,
  teltonika,
  traccar,
  flespi,
  sigfox,
  'home-assistant': homeAssistant,
  notehub,
} satisfies Record<string, BuiltInProfile>
