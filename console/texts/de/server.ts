import type { ServerTexts } from '../en/server.ts'

export const serverTexts: ServerTexts = {
  title: 'Zustand des Servers',
  lead: 'Alle Prozesse und Organisationen dieses Servers zusammen. Nur wer ihn betreibt, sieht diese Seite.',
  notYours: 'Nur der Owner der ersten Organisation dieses Servers sieht seinen Zustand.',
  period: 'Zeitraum',
  periods: { day: '24 Stunden', month: '31 Tage', year: '1 Jahr' },
  allWell: 'Alles ist in Ordnung.',
  toDo: (count, names) =>
    `${count === 1 ? 'Ein Wert braucht Sie' : `${count} Werte brauchen Sie`}: ${names}.`,
  none: 'Die ersten Werte kommen innerhalb von zwei Minuten nach dem Start.',
  states: { good: 'In Ordnung', warning: 'Ansehen', bad: 'Jetzt handeln', unknown: 'Unbekannt' },
  figures: {
    points: 'Punkte pro Minute',
    online: 'Objekte online',
    stored: 'Vom Empfang bis gespeichert',
    shown: 'Vom Empfang bis zum Bildschirm',
    waiting: 'Warten auf das Speichern',
    jobs: 'Hintergrundaufgaben',
    rejections: 'Abgewiesene Punkte pro Minute',
    disk: 'Belegter Speicherplatz',
  },
  series: {
    received: 'Empfangen',
    stored: 'Gespeichert',
    online: 'Online',
    storedSeconds: 'Sekunden bis gespeichert',
    shownSeconds: 'Sekunden bis zum Bildschirm',
    waitingSeconds: 'Längste Wartezeit in Sekunden',
    lagRecords: 'Rückstand in Kafka',
    jobsDue: 'Fällige Aufgaben',
    jobsOldestSeconds: 'Älteste in Sekunden',
    jobsFailed: 'An einem Tag gescheitert',
    rejected: 'Abgewiesen',
    diskUsed: 'Belegt',
    databaseBytes: 'Datenbank',
  },
  notes: {
    stored: 'Der älteste Punkt von 95 aus 100 Paketen.',
    shown: 'Der älteste Punkt von 95 aus 100 Bildern.',
  },
  unknown: 'unbekannt',
  plot: (name, from, to, least, most) => `${name} von ${from} bis ${to}: zwischen ${least} und ${most}`,
  noPlot: name => `${name}: keine Werte in diesem Zeitraum`,
  table: 'Als Tabelle',
  time: 'Zeit',
  full: day => `Voll am ${day}, wenn es so weitergeht.`,
  notFull: 'Er füllt sich auf Jahre hinaus nicht.',
  ofDisk: (used, size) => `${used} von ${size}`,
  byReason: 'Nach Grund, in diesem Zeitraum:',
  toRejections: 'Zu den abgewiesenen Punkten',
  causes: {
    'no-figures':
      'Seit fünf Minuten kommen keine Werte. Läuft ein Prozess mit der Rolle jobs? Sein Protokoll sagt, warum er keine schreibt.',
    'points-stored': 'Punkte werden angenommen und gespeichert.',
    'not-stored':
      'Punkte konnten nicht gespeichert werden. Das Protokoll nennt den Grund: Die Datenbank ist weg, ihr Datenträger voll oder ein Passwort geändert. Geräte behalten ihre Punkte, oder sie warten in Kafka.',
    'points-stopped':
      'Seit zehn Minuten kommt kein Punkt, davor kamen viele. Prüfen Sie, ob Geräte diesen Server erreichen: Adresse, Ports, das Zertifikat von MQTT, Verbindungen zu anderen Brokern.',
    'online-steady': 'Etwa so viele wie in der Stunde davor.',
    'online-fell':
      'Weniger als die Hälfte der letzten Stunde. Sehen Sie nach, was sie gemeinsam haben: das Netz, eine Verbindung zu einem Broker, das Zertifikat von MQTT.',
    'not-measured': 'Kein laufender Prozess misst das.',
    'stored-quickly': 'Punkte sind kurz nach dem Empfang gespeichert.',
    'stored-slowly':
      'Punkte werden spät gespeichert. Sehen Sie nach Datenträger und Prozessor der Datenbank, dann starten Sie mehr Prozesse mit der Rolle writer oder nehmen eine größere Maschine.',
    'nothing-stored': 'In den letzten fünf Minuten wurde nichts gespeichert.',
    'shown-quickly': 'Bildschirme zeigen Punkte kurz nach dem Empfang.',
    'shown-slowly':
      'Bildschirme zeigen Punkte spät. Sehen Sie nach dem Prozessor der Prozesse mit der Rolle live, und starten Sie einen weiteren.',
    'nobody-watches': 'In den letzten fünf Minuten hat niemand einem fahrenden Objekt zugesehen.',
    'nothing-waits': 'Nichts wartet lange.',
    'points-wait':
      'Punkte warten auf das Speichern. Die Datenbank oder Kafka antwortet nicht, oder eine Partition steht still: Das Protokoll nennt sie. Geräte behalten, was nicht bestätigt ist.',
    'retention-near':
      'Punkte warten in Kafka seit mehr als der Hälfte der Aufbewahrungszeit und gehen an deren Ende verloren. Bringen Sie die Datenbank oder die Schreibprozesse in Gang, oder verlängern Sie retention.ms des Topics.',
    'jobs-run': 'Hintergrundaufgaben werden rechtzeitig erledigt.',
    'jobs-wait':
      'Die älteste Aufgabe wartet seit über 15 Minuten. Läuft ein Prozess mit der Rolle jobs? Wenn ja, hat eine Art mehr Arbeit als Plätze.',
    'jobs-failed':
      'An einem Tag sind Hintergrundaufgaben gescheitert. Das Protokoll nennt jede; Importe, Exporte und Webhooks sagen in ihren Listen, warum.',
    'few-rejected': 'Wenige Punkte werden abgewiesen.',
    'many-rejected':
      'In der letzten Stunde wurden viele Punkte abgewiesen. Die Seite der abgewiesenen Punkte nennt die Geräte und was zu tun ist.',
    'disk-has-room': 'Es ist Platz.',
    'disk-fills':
      'Er ist in zwei Wochen voll, wenn es so weitergeht. Schaffen Sie Platz, verlegen Sie DATA_DIR, oder senken Sie RETENTION_DAYS.',
    'disk-full':
      'Er ist fast voll, und auf einem vollen Datenträger kann nichts gespeichert werden. Schaffen Sie Platz, verlegen Sie DATA_DIR auf einen größeren, oder senken Sie RETENTION_DAYS. Exporte und hochgeladene Dateien werden nach 30 Tagen gelöscht.',
  },
}
