/** The texts of the frame of the settings, which are loaded with it. */
export const settingsTexts = {
  sections: 'Sections of the settings',
  leads: {
    account: 'Your name, your password, and where you are signed in.',
    organization: 'Its name, and how times, numbers and positions are shown to everybody in it.',
    roles: 'What each role may see and do. A change holds at once for everybody who has the role.',
    webhooks: 'Where events are sent, signed, until they are received.',
    'audit-log': 'Who has changed what, kept for one year.',
  },
  none: 'Your role can’t see this part of the settings.',
}

export type SettingsTexts = typeof settingsTexts
