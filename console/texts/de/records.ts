import type { Texts } from '../en/en.ts'
import type { recordTexts as english } from '../en/records.ts'

/** The texts of tables and forms. */
export const recordTexts: Pick<Texts, keyof typeof english> = {
  records: {
    count: (count, text) => (count === 1 ? '1 Eintrag' : `${text} Einträge`),
    countLoaded: (loaded, all) => `Wird geladen: ${loaded} von ${all}`,
    none: 'Noch keine Einträge',
    noneFound: 'Keine Treffer',
    noneFoundHint: 'Suche leeren, um alles zu sehen.',
    missing: 'Nicht gefunden: gelöscht oder für Ihre Rolle nicht sichtbar.',
    elsewhere:
      'Möglicherweise gehört es zu einer anderen Ihrer Organisationen. Dorthin wechseln und den Link erneut öffnen.',
    backTo: where => `Zurück zu ${where}`,
    name: 'Name',
    delete: 'Löschen',
  },
  kinds: {
    devices: {
      title: 'Geräte',
      lead: 'Alles, was Positionen sendet: Tracker und Telefone.',
      create: 'Gerät hinzufügen',
      seen: 'Zuletzt gesehen',
      setup: 'Einrichten',
      newKey: 'Neuer Schlüssel',
      newKeyAsk: name =>
        `Neuen Schlüssel für ${name} erstellen? Das Gerät kann erst wieder senden, wenn er eingetragen ist.`,
      deleteAsk: name => `${name} löschen? Das Gerät kann nichts mehr senden. Der Verlauf bleibt erhalten.`,
      replace: 'Ersetzen',
      replaceAsk: (vehicle, other) =>
        `${vehicle} hat bereits das Gerät ${other}. Durch dieses ersetzen? ${other} ist dann an keinem Fahrzeug.`,
      replaced: (other, vehicle) => `${other} ist nicht mehr an ${vehicle}.`,
    },
    vehicles: {
      title: 'Fahrzeuge',
      lead: 'Ihre Flotte. Die Position eines Fahrzeugs kommt vom Gerät, das darin montiert ist.',
      create: 'Fahrzeug hinzufügen',
      plate: 'Kennzeichen',
      tags: 'Tags',
      deleteAsk: name => `${name} löschen? Der Verlauf der Geräte bleibt erhalten.`,
      take: 'Hierher verschieben',
      takeAsk: (device, other) =>
        `${device} ist an ${other} montiert. Hierher verschieben? ${other} ist dann nicht mehr auf der Karte.`,
      taken: (device, other, vehicle) => `${device} wurde von ${other} an ${vehicle} verschoben.`,
    },
    teams: {
      title: 'Teams',
      lead: 'Wer zusammenarbeitet. Eine Rolle kann auf Aufgaben und Positionen der eigenen Teams beschränkt sein.',
      create: 'Team hinzufügen',
      members: 'Mitglieder',
      leaders: 'Leitung',
      deleteAsk: name => `${name} löschen? Die Mitglieder bleiben erhalten.`,
    },
    hubs: {
      title: 'Hubs',
      lead: 'Wo die Arbeit beginnt: Depots, Büros, Höfe.',
      create: 'Hub hinzufügen',
      address: 'Adresse',
      lat: 'Breitengrad',
      lng: 'Längengrad',
      deleteAsk: name => `${name} löschen?`,
    },
    geofences: {
      title: 'Geofences',
      lead: 'Benannte Gebiete, die melden, wer sie betritt oder verlässt. Gezeichnet und bearbeitet werden sie auf der Karte.',
      create: 'Neuer Geofence',
    },
  },
  form: {
    unknown: 'Unbekannt',
    save: 'Speichern',
    saving: 'Speichert …',
    cancel: 'Abbrechen',
    overtaken: 'Jemand anderes hat dies inzwischen geändert. Erneut speichern, um Ihre Version zu behalten.',
    takeTheirs: 'Andere Version übernehmen',
    theirs: 'Inzwischen von jemand anderem geändert.',
    theirsIs: value => `Inzwischen von jemand anderem in ${value} geändert.`,
    theirsIsNone: 'Inzwischen von jemand anderem geleert.',
    shownOnce: 'Das wird nur einmal angezeigt. Zum Schließen „Fertig“ wählen.',
    shown: 'Wird nur einmal angezeigt',
    shownAsk: 'Was hier steht, kann nicht noch einmal angezeigt werden.',
    back: 'Zurück dazu',
    unsaved: 'Ungespeicherte Änderungen',
    leaveAsk: 'Es gibt ungespeicherte Änderungen.',
    leave: 'Verwerfen',
    stay: 'Weiter bearbeiten',
    undo: 'Rückgängig',
    close: 'Schließen',
    none: 'Ohne',
    optional: 'optional',
    required: 'Bitte ausfüllen.',
  },
}
