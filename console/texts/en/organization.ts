/** The texts of the organization's settings, which are loaded with them. */
export const organizationTexts = {
  name: 'Name',
  logo: 'Logo (address of a picture)',
  logoHint: 'Programs that use the API show it. The address begins with https://.',
  timeZone: 'Time zone',
  timeZoneHint: (now: string) =>
    `There it is ${now}. Days begin and end, and all times are written, in this zone.`,
  language: 'Language and region',
  languageHint:
    'How dates, times and numbers are written. Everybody may choose another language for themselves.',
  browserLanguage: 'That of each browser',
  currency: 'Currency',
  offline: 'Minutes until something silent is shown as offline',
  accuracy: 'Greatest inaccuracy in metres',
  accuracyHint:
    'Points that say they are less accurate are kept as anomalies: trails and the live map leave them out. Empty is no limit.',
  teamPositions: 'Answer the OwnTracks app with the positions of the team',
  saved: 'Saved.',
  readOnly: 'Your role can see these settings but not change them.',
  yours: 'Your organizations',
  here: 'this one',
  switchTo: 'Switch',
  switchToOf: (name: string) => `Switch to ${name}`,
  create: 'Create organization',
  createLead:
    'You become its owner, and go on in it. Sample data follows in the background and can be removed in one click.',
  newName: 'Name of the organization',
  copy: 'Copy settings, hubs, custom roles and flows of the first organization that you own',
  hub: 'First hub',
  hubNeeded: 'You own no organization whose hubs could be taken over, so the new one needs a first hub.',
  hubOptional: 'Leave it empty to take over the hubs of the first organization that you own.',
  hubName: 'Name of the hub',
  hubLat: 'Latitude',
  hubLng: 'Longitude',
  map: 'Map',
  streets: 'Streets of the map',
  end: 'Delete this organization',
  endLead:
    'Everything in it is deleted and cannot be brought back. All its users and devices lose access at once.',
  endType: (name: string) => `Type ${name} to confirm`,
}

export type OrganizationTexts = typeof organizationTexts
