import type { TrackTexts } from '../en/track.ts'

export const trackTexts: TrackTexts = {
  title: name => `Standort von ${name}`,
  waiting: 'Noch keine Position. Sie erscheint hier, sobald es eine gibt.',
  gone: 'Dieser Link ist nicht mehr gültig',
  goneLead: 'Er ist abgelaufen oder wurde widerrufen. Bitten Sie den Absender um einen neuen.',
  standing: 'steht',
  moving: 'unterwegs',
  seen: ago => `zuletzt gesehen ${ago}`,
  heading: direction => `Richtung ${direction}`,
  until: time => `Link gültig bis ${time}`,
  center: 'Position anzeigen',
}
