/** What the server says, by its own sentence; a number is a `#`, a name a `$`. */
export const serverInGerman: Readonly<Record<string, string>> = {
  'This is required.': 'Das wird gebraucht.',
  'This must not be empty.': 'Das darf nicht leer sein.',
  'This has at most # characters.': 'Das hat höchstens # Zeichen.',
  'This has at least # characters.': 'Das hat mindestens # Zeichen.',
  'This has at most # entries.': 'Das sind höchstens # Einträge.',
  'This has at least # entries.': 'Das sind mindestens # Einträge.',
  'This has to be at most #.': 'Das ist höchstens #.',
  'This has to be at least #.': 'Das ist mindestens #.',
  'This has to be more than #.': 'Das ist mehr als #.',
  'This has to be less than #.': 'Das ist weniger als #.',
  'This has to be a number.': 'Das muss eine Zahl sein.',
  'This has to be a whole number.': 'Das muss eine ganze Zahl sein.',
  'This needs a letter or a sign that can be seen.':
    'Das braucht einen Buchstaben oder ein Zeichen, das zu sehen ist.',
  'This holds a sign that cannot be seen: type it anew.':
    'Darin steckt ein Zeichen, das man nicht sieht: bitte neu tippen.',
  'This holds a hidden sign that turns the direction of writing: type it anew.':
    'Darin steckt ein unsichtbares Zeichen, das die Schreibrichtung umkehrt: bitte neu tippen.',
  'There is no such hub.': 'Diesen Standort gibt es nicht.',
  'There is no such organization.': 'Diese Organisation gibt es nicht.',
  'There is no such vehicle.': 'Dieses Fahrzeug gibt es nicht.',
  'There is no such team.': 'Dieses Team gibt es nicht.',
  'There is no such geofence.': 'Diesen Geofence gibt es nicht.',
  'There is no such tracking link.': 'Diesen Link gibt es nicht.',
  'There is no such task.': 'Diese Aufgabe gibt es nicht.',
  'Your role lacks the permission $.': 'Der eigenen Rolle fehlt das Recht $.',
  'This is over already: give a time to come.': 'Das ist schon vorbei: bitte eine Zeit, die noch kommt.',
  'A link lasts a year at most.': 'Ein Link gilt höchstens ein Jahr.',
  'This task is done: give one that is to be done.':
    'Diese Aufgabe ist erledigt: bitte eine, die noch zu tun ist.',
  'This account is not active in any organization. Ask an administrator to invite you.':
    'Dieses Konto ist in keiner Organisation aktiv. Bitte jemanden, der sie verwaltet, um eine Einladung bitten.',
  'This account is not active in any organization. Register with its address and password to begin a new one.':
    'Dieses Konto ist in keiner Organisation aktiv. Mit seiner Adresse und seinem Passwort kann eine neue begonnen werden.',
  'There is no such user.': 'Diese Person gibt es nicht.',
  'There is no such device.': 'Dieses Gerät gibt es nicht.',
  'A polygon has at least # different vertices.': 'Ein Polygon hat mindestens # verschiedene Ecken.',
  'A polygon has an area of at least # m².': 'Ein Polygon hat mindestens # m² Fläche.',
  'A polygon may not go around the world or a pole: its edges take the shorter way.':
    'Ein Polygon geht nicht um die Welt oder einen Pol: seine Kanten nehmen den kürzeren Weg.',
  'An edge spans half the world, so that it is not clear which half: put a vertex in between.':
    'Eine Kante geht um die halbe Welt, und welche Hälfte, ist offen: bitte eine Ecke dazwischen.',
  'The polygon crosses itself: the edges from vertex # and vertex # meet.':
    'Das Polygon kreuzt sich: die Kanten ab Ecke # und Ecke # treffen sich.',
  'The polygon turns back on itself at vertex #.': 'Das Polygon kehrt an Ecke # um.',
  'There is a team named $ already.': 'Ein Team namens $ gibt es schon.',
  'Teams, vehicles, devices or tasks are still bound to this hub. Move them first.':
    'Teams, Fahrzeuge, Geräte oder Aufgaben gehören noch zu diesem Standort. Bitte zuerst verschieben.',
  'What this refers to was deleted at the same moment. Read it again, and send what holds now.':
    'Worauf sich das bezieht, wurde im selben Augenblick gelöscht. Bitte neu laden und noch einmal senden.',
  'The device was deleted at the same moment. Choose another one.':
    'Das Gerät wurde im selben Augenblick gelöscht. Bitte ein anderes wählen.',
  'There are # geofences, as many as may be. Delete one first.':
    'Es gibt # Geofences, mehr gehen nicht. Erst einen löschen.',
  'All polygons together may have # vertices. Draw them with fewer.':
    'Alle Polygone zusammen haben höchstens # Ecken. Bitte mit weniger zeichnen.',
  'The service cannot reach its database. Send the request again.':
    'Der Dienst erreicht seine Datenbank nicht. Bitte noch einmal senden.',
  'Another request was in the way. Send the request again.':
    'Eine andere Anfrage war im Weg. Bitte noch einmal senden.',
  'Too many requests. Wait before you send more.': 'Zu viele Anfragen. Bitte etwas warten.',
  'Too many failed attempts. Wait before you try again.': 'Zu viele falsche Versuche. Bitte etwas warten.',
  'Something went wrong on our side.': 'Auf unserer Seite ist etwas schiefgegangen.',
  'The e-mail address or the password is wrong.': 'E-Mail-Adresse oder Passwort ist falsch.',
}
