import type { ZoneTexts } from '../en/zone.ts'

/** The texts about the organization's time zone, which are loaded where it is not the reader's own. */
export const zoneTexts: ZoneTexts = {
  times: zone => `Zeiten von ${zone}`,
  ask: (zone, own) => `Tage und Zeiten sind die von ${zone}. Sie scheinen in ${own} zu sein.`,
  use: zone => `${zone} verwenden`,
  other: 'Eine andere wählen',
}
