import type { SettingsTexts } from '../en/settings.ts'

/** The texts of the frame of the settings, which are loaded with it. */
export const settingsTexts: SettingsTexts = {
  sections: 'Bereiche der Einstellungen',
  leads: {
    account: 'Ihr Name, Ihr Passwort und wo Sie angemeldet sind.',
    organization: 'Ihr Name und wie Zeiten, Zahlen und Positionen für alle darin angezeigt werden.',
    roles: 'Was jede Rolle sehen und tun darf. Eine Änderung gilt sofort für alle, die die Rolle haben.',
    webhooks: 'Wohin Ereignisse gesendet werden, signiert, bis sie empfangen sind.',
    'audit-log': 'Wer was geändert hat, ein Jahr lang aufbewahrt.',
  },
  none: 'Ihre Rolle kann diesen Teil der Einstellungen nicht sehen.',
}
