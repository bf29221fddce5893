import type { RoleTexts } from '../en/roles.ts'

const VERBS: { [action: string]: string | undefined } = {
  view: 'sehen',
  create: 'anlegen',
  update: 'ändern',
  delete: 'löschen',
  import: 'importieren',
  export: 'exportieren',
}

const SPECIAL: { [permission: string]: string | undefined } = {
  'view/organization': 'Die Organisation sehen',
  'create/organization': 'Eine Organisation anlegen',
  'update/organization': 'Die Organisation ändern',
  'delete/organization': 'Die Organisation mit allem darin löschen',
  'view/location': 'Positionen und ihren Verlauf sehen',
  'create/location': 'Positionen senden; mit Reichweite „alles“ auch für andere',
  'view/audit': 'Das Änderungsprotokoll sehen',
  'create/command': 'Geräten Befehle senden',
}

const resources: RoleTexts['resources'] = {
  hub: 'Hubs',
  role: 'Rollen',
  user: 'Benutzer',
  team: 'Teams',
  vehicle: 'Fahrzeuge',
  'data-type': 'Datentypen',
  data: 'Daten',
  flow: 'Abläufe',
  task: 'Aufgaben',
  'task-schedule': 'Aufgabenpläne',
  device: 'Geräte',
  'import-config': 'Importvorlagen',
  webhook: 'Webhooks',
  geofence: 'Geofences',
  connection: 'Verbindungen',
  organization: 'Organisation',
  location: 'Positionen',
  'tracking-link': 'Tracking-Links',
  audit: 'Änderungsprotokoll',
  'api-key': 'API-Schlüssel',
  'alert-rule': 'Alarmregeln',
  alert: 'Alarme',
  command: 'Befehle an Geräte',
}

/** The texts of roles, which are loaded with their page. */
export const roleTexts: RoleTexts = {
  create: 'Rolle anlegen',
  copyOf: name => `${name} (Kopie)`,
  copy: 'Kopie anlegen',
  filter: 'Berechtigung finden',
  matrix: 'Berechtigungen nach Rolle',
  permission: 'Berechtigung',
  fixed: 'Standard',
  showAll: count => `Alle ${count} Rollen zeigen`,
  noneFound: 'Keine Berechtigung enthält diese Wörter.',
  yes: 'ja',
  no: 'nein',
  scopes: { all: 'alles', team: 'eigene Teams', own: 'nur eigene' },
  scopeOf: permission => `${permission}: wessen`,
  types: count => (count === 1 ? '1 Typ' : `${count} Typen`),
  hiddenFields: count => (count === 1 ? '1 verborgenes Feld' : `${count} verborgene Felder`),
  defaultNote: name =>
    `${name} ist eine Standardrolle und bleibt, wie sie ist. Zum Ändern eine Kopie anlegen.`,
  gone: count =>
    count === 1
      ? 'Sie nennt 1 gelöschten Datentyp oder ein gelöschtes Feld. Das ändert nichts.'
      : `Sie nennt ${count} gelöschte Datentypen oder Felder. Das ändert nichts.`,
  deleteAsk: name => `${name} löschen? Das geht, sobald niemand mehr diese Rolle hat.`,
  holders: 'Wer diese Rolle hat',
  perType: 'Datentypen und Felder',
  allTypes: 'Alle Datentypen, jedes Feld',
  someTypes: 'Nur diese Datentypen, und nicht jedes Feld',
  hiddenOf: type => `Verborgene Felder von ${type}`,
  say: (name, description) => {
    const [action = '', resource = ''] = name.split('/')
    const [noun, verb] = [resources[resource], VERBS[action]]
    return SPECIAL[name] ?? (noun && verb ? `${noun} ${verb}` : description)
  },
  resources,
  preview: {
    open: 'Sehen, was diese Rolle sieht',
    title: name => `So sieht es ${name}`,
    pages: 'Seiten',
    there: 'da',
    absent: 'nicht da',
    reach: 'Wessen sie sieht',
    positions: 'Positionen',
    tasks: 'Aufgaben',
    users: 'Benutzer',
    nothing: 'keine',
    fields: 'Daten',
    wholeType: 'jedes Feld',
    without: fields => `ohne ${fields}`,
    typeAbsent: 'nicht da',
    limits:
      'Innerhalb davon sieht jede Person die Einträge ihrer eigenen Hubs und solche ohne Hub. Alles andere verweigert auch die API.',
  },
}
