import type { SetupTexts } from '../en/setup.ts'

export const setupTexts: SetupTexts = {
  title: name => `${name} einrichten`,
  app: 'App',
  enter: app => `In ${app} eintragen`,
  outOfReach: host =>
    `Telefone erreichen ${host} nicht: Das ist nur dieser Rechner. Öffnen Sie die Konsole unter der Netzwerkadresse des Rechners; dafür den Server mit HOST=0.0.0.0 starten.`,
  scan: 'Oder mit dem Telefon scannen',
  open: 'Auf diesem Telefon öffnen',
  key: 'Der Schlüssel wird nur einmal angezeigt. Jetzt kopieren. Bei Verlust über „Neuer Schlüssel“ ersetzen.',
  noKey: 'DEVICE_KEY durch den Schlüssel ersetzen, der beim Anlegen angezeigt wurde.',
  empty: '(leer lassen)',
  command: 'Im Terminal',
  waiting: 'Warten auf die erste Position …',
  arrived: time => `Erste Position um ${time} empfangen`,
}
