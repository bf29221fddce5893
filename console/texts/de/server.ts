/** The server's sentences with their translation. A `#` stands for a number, a `$` for a name. */
export const serverInGerman: Readonly<Record<string, string>> = {
  'This is required.': 'Bitte ausfüllen.',
  'This must not be empty.': 'Darf nicht leer sein.',
  'This has at most # characters.': 'Höchstens # Zeichen.',
  'This has at least # characters.': 'Mindestens # Zeichen.',
  'This has at most # entries.': 'Höchstens # Einträge.',
  'This has at least # entries.': 'Mindestens # Einträge.',
  'This has to be at most #.': 'Darf höchstens # sein.',
  'This has to be at least #.': 'Muss mindestens # sein.',
  'This has to be more than #.': 'Muss größer als # sein.',
  'This has to be less than #.': 'Muss kleiner als # sein.',
  'This has to be a number.': 'Muss eine Zahl sein.',
  'This has to be a whole number.': 'Muss eine ganze Zahl sein.',
  'This needs a letter or a sign that can be seen.': 'Muss mindestens ein sichtbares Zeichen enthalten.',
  'This holds a sign that cannot be seen: type it anew.':
    'Enthält ein unsichtbares Zeichen. Bitte neu eingeben.',
  'This holds a hidden sign that turns the direction of writing: type it anew.':
    'Enthält ein unsichtbares Zeichen, das die Schreibrichtung ändert. Bitte neu eingeben.',
  'There is no such hub.': 'Diesen Hub gibt es nicht.',
  'There is no such organization.': 'Diese Organisation gibt es nicht.',
  'There is no such vehicle.': 'Dieses Fahrzeug gibt es nicht.',
  'There is no such team.': 'Dieses Team gibt es nicht.',
  'There is no such geofence.': 'Diesen Geofence gibt es nicht.',
  'There is no such tracking link.': 'Diesen Tracking-Link gibt es nicht.',
  'There is no such task.': 'Diese Aufgabe gibt es nicht.',
  'Your role lacks the permission $.': 'Ihrer Rolle fehlt die Berechtigung $.',
  'This is over already: give a time to come.':
    'Liegt in der Vergangenheit. Bitte einen späteren Zeitpunkt wählen.',
  'A link lasts a year at most.': 'Ein Link gilt höchstens ein Jahr.',
  'This task is done: give one that is to be done.': 'Diese Aufgabe ist erledigt. Bitte eine offene wählen.',
  'This account is not active in any organization. Ask an administrator to invite you.':
    'Dieses Konto ist in keiner Organisation aktiv. Bitten Sie einen Administrator um eine Einladung.',
  'This account is not active in any organization. Register with its address and password to begin a new one.':
    'Dieses Konto ist in keiner Organisation aktiv. Mit seiner E-Mail-Adresse und seinem Passwort können Sie eine neue registrieren.',
  'There is no such user.': 'Diese Person gibt es nicht.',
  'There is no such device.': 'Dieses Gerät gibt es nicht.',
  'A polygon has at least # different vertices.': 'Ein Polygon braucht mindestens # verschiedene Ecken.',
  'A polygon has an area of at least # m².': 'Ein Polygon muss mindestens # m² groß sein.',
  'A polygon may not go around the world or a pole: its edges take the shorter way.':
    'Ein Polygon darf nicht um die Welt oder einen Pol gehen: Seine Kanten nehmen den kürzeren Weg.',
  'An edge spans half the world, so that it is not clear which half: put a vertex in between.':
    'Eine Kante umspannt die halbe Welt, ihre Richtung ist nicht eindeutig. Bitte eine Ecke dazwischen setzen.',
  'The polygon crosses itself: the edges from vertex # and vertex # meet.':
    'Das Polygon überschneidet sich: Die Kanten ab Ecke # und Ecke # treffen sich.',
  'The polygon turns back on itself at vertex #.': 'Das Polygon kehrt an Ecke # um.',
  'There is a team named $ already.': 'Ein Team namens $ gibt es bereits.',
  'Teams, vehicles, devices or tasks are still bound to this hub. Move them first.':
    'Diesem Hub sind noch Teams, Fahrzeuge, Geräte oder Aufgaben zugeordnet. Bitte zuerst verschieben.',
  'What this refers to was deleted at the same moment. Read it again, and send what holds now.':
    'Ein verknüpfter Eintrag wurde gerade gelöscht. Bitte neu laden und erneut versuchen.',
  'The device was deleted at the same moment. Choose another one.':
    'Das Gerät wurde gerade gelöscht. Bitte ein anderes wählen.',
  'There are # geofences, as many as may be. Delete one first.':
    'Das Maximum von # Geofences ist erreicht. Bitte zuerst einen löschen.',
  'All polygons together may have # vertices. Draw them with fewer.':
    'Alle Polygone zusammen dürfen # Ecken haben. Bitte mit weniger zeichnen.',
  'The service cannot reach its database. Send the request again.':
    'Der Server erreicht seine Datenbank nicht. Bitte erneut versuchen.',
  'Another request was in the way. Send the request again.':
    'Eine andere Anfrage kam dazwischen. Bitte erneut versuchen.',
  'Too many requests. Wait before you send more.': 'Zu viele Anfragen. Bitte kurz warten.',
  'Too many failed attempts. Wait before you try again.': 'Zu viele Fehlversuche. Bitte kurz warten.',
  'Something went wrong on our side.': 'Auf dem Server ist ein Fehler aufgetreten.',
  'The e-mail address or the password is wrong.': 'E-Mail-Adresse oder Passwort ist falsch.',
  // The reasons for which points are rejected.
  'lat has to be a number from # to # and lng one from # to #.':
    'lat muss eine Zahl von # bis # sein und lng eine von # bis #.',
  'lat and lng are exactly #, which devices send when they have no fix.':
    'lat und lng sind genau #: Das senden Geräte, die keine Ortung haben.',
  'timestamp has to be RFC # with an offset, or seconds or milliseconds since #.':
    'timestamp muss RFC # mit Zeitverschiebung sein, oder Sekunden oder Millisekunden seit #.',
  'timestamp is more than # minutes ahead.': 'timestamp liegt mehr als # Minuten in der Zukunft.',
  'timestamp is older than the history is kept, which is one year.':
    'timestamp liegt mehr als ein Jahr zurück. So lange werden Positionen aufbewahrt.',
  'A message holds at most # points, this one has #.':
    'Eine Nachricht enthält höchstens # Punkte, diese enthält #.',
  'The payload is not JSON in UTF#.': 'Die Daten sind kein JSON in UTF#.',
  'The payload is encrypted: switch payload encryption off in the app.':
    'Die Daten sind verschlüsselt. Bitte die Verschlüsselung in der App ausschalten.',
  'Latitude and longitude have a decimal point, not a comma: #.':
    'Breite und Länge haben einen Dezimalpunkt und kein Komma: #.',
  'A point has to be a JSON object.': 'Ein Punkt muss ein JSON-Objekt sein.',
  'A fix has to be an object or fields in the address.':
    'Eine Position muss ein Objekt sein oder aus Feldern in der Adresse bestehen.',
  'The app says that its fix is not valid.': 'Laut der App ist ihre Ortung ungültig.',
  'A location has to have coords.': 'Eine location muss coords enthalten.',
  'An OwnTracks message has to be a JSON object.': 'Eine OwnTracks-Nachricht muss ein JSON-Objekt sein.',
  'An OwnTracks message has to have a _type.': 'Eine OwnTracks-Nachricht muss einen _type enthalten.',
  'Overland sends GeoJSON features under locations.': 'Overland sendet GeoJSON-Features unter locations.',
  'Another point of this subject has the same timestamp.': 'Ein anderer Punkt hat denselben Zeitstempel.',
  'The point cannot be stored.': 'Der Punkt kann nicht gespeichert werden.',
}
