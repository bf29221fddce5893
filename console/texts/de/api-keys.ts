import type { ApiKeyTexts } from '../en/api-keys.ts'

export const apiKeyTexts: ApiKeyTexts = {
  role: 'Rolle',
  hubs: 'Hubs',
  key: 'Schlüssel',
  used: 'Zuletzt benutzt',
  usedFrom: 'Von',
  expires: 'Läuft ab',
  expired: 'Abgelaufen',
  never: 'Nie',
  lasts: { never: 'Nie', month: 'In 30 Tagen', quarter: 'In 90 Tagen', year: 'In einem Jahr' },
  keepsDate: date => `Am ${date}`,
  createdBy: 'Erstellt von',
  formerUntil: date => `Der frühere Schlüssel gilt bis ${date}.`,
  rotate: 'Neuer Schlüssel',
  rotateLead: name => `Einen neuen Schlüssel für ${name} erstellen. Wie lange gilt der alte noch?`,
  overlap: 'Alter Schlüssel gilt noch',
  overlaps: { none: 'Endet jetzt', hour: '1 Stunde', day: '1 Tag', week: '7 Tage' },
  isExpired: 'Dieser Schlüssel ist abgelaufen. Erstellen Sie einen anderen.',
  shown: name => `Schlüssel von ${name}`,
  copyNow:
    'Der Schlüssel wird nur einmal angezeigt. Kopieren Sie ihn jetzt und bewahren Sie ihn auf, wo Passwörter aufbewahrt werden.',
  howTo: 'Mit jeder Anfrage senden',
  deleteAsk: name => `${name} löschen? Programme, die ihn benutzen, haben sofort keinen Zugriff mehr.`,
}
