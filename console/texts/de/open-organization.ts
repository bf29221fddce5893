import type { openOrganizationTexts as en } from '../en/open-organization.ts'

export const openOrganizationTexts: typeof en = {
  opening: 'Die Organisation dieser Adresse wird geöffnet …',
  noMember: 'Sie sind kein Mitglied dieser Organisation.',
  askForInvitation:
    'Die Adresse gehört zu einer Organisation, in der Ihr Konto nicht aktiv ist. Jemand dort kann Sie einladen.',
  toOwn: 'Zur eigenen Organisation',
  asAnother: 'Mit einem anderen Konto anmelden',
  signInElsewhere: 'Drücken Sie noch einmal, um Ihre eigene Organisation zu öffnen.',
}
