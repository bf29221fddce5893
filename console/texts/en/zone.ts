/** The texts about the organization's time zone, which are loaded where it is not the reader's own. */
export const zoneTexts = {
  times: (zone: string) => `Times of ${zone}`,
  ask: (zone: string, own: string) => `Days and times are those of ${zone}. You seem to be in ${own}.`,
  use: (zone: string) => `Use ${zone}`,
  other: 'Choose another one',
}

export type ZoneTexts = typeof zoneTexts
