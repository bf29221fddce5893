/** The texts of the card on an empty map, which are loaded with it. */
export const welcomeTexts = {
  title: 'Nothing on the map yet',
  lead: 'Add a device and enter its settings in a phone app or a tracker. It appears here with its first position.',
  name: 'Device name',
  placeholder: 'Van 12',
  create: 'Add device',
  silent: (name: string) => `${name} hasn’t sent anything yet.`,
  goOn: 'Continue setup',
  fleet: 'Or watch a fleet move',
  fleetLead:
    'Run this on the server. Twenty vehicles drive through San Francisco and report over real connections.',
  fleetPassword: 'YOUR_PASSWORD',
  noPermission: 'Your role can’t add devices. Ask an administrator.',
}

export type WelcomeTexts = typeof welcomeTexts
