/** The texts of the page of a tracking link. */
export const trackTexts = {
  title: (name: string) => `Where ${name} is`,
  waiting: 'No position yet. It appears here as soon as there is one.',
  gone: 'This link no longer works',
  goneLead: 'It has expired or was revoked. Ask the person who sent it for a new one.',
  standing: 'standing still',
  moving: 'moving',
  seen: (ago: string) => `last seen ${ago}`,
  heading: (direction: string) => `heading ${direction}`,
  until: (time: string) => `Link valid until ${time}`,
  center: 'Show position',
}

export type TrackTexts = typeof trackTexts
