/** Why a device is not on somebody's map, each with a sentence to act on. */
export const CAUSES = {
  deleted: 'The device is deleted. Create a new one, and enter its key in the tracker.',
  'user-not-active': 'The user is not active, so that it sees no map.',
  'role-without-positions': 'The role lacks view/location, so that it sees no positions.',
  'role-with-few-positions': 'The role sees only its own positions, or those of its teams, and no device.',
  'hub-out-of-sight': 'The device belongs to a hub to which the user has no access.',
  'vehicle-out-of-sight':
    'The device is mounted on a vehicle of a hub to which the user has no access, which decides who sees it.',
  'fix-out-of-sight':
    'Its newest fix is from a time when it belonged to a hub to which the user has no access. It appears with its next point.',
  'hub-without-users':
    'No user is bound to the hub of the device or its vehicle: only those who work in every hub see it.',
  'wrong-key':
    'Somebody signed in as this device with a wrong key. If it was the tracker, enter its key again, or create a new one.',
  'replaced-key': 'The tracker signs in with the key that was replaced. Enter the new one.',
  'other-key': 'The tracker signs in with the key of another device. Enter its own.',
  'wrong-name': 'The tracker sends the right key with another user name. Enter the identifier of the device.',
  'certificate-expired': 'The certificate of the tracker has expired. Give it a new one.',
  'certificate-early': 'The certificate of the tracker is not valid yet. Check its dates.',
  'wrong-topic':
    'The tracker publishes to a topic that is not its own. Enter the topic of the setup, or choose a profile that takes this one.',
  'wrong-will': 'The will of the tracker has a topic that is not its own, so that it is refused.',
  'broken-rule': 'The tracker breaks a rule of MQTT, so that its connection is closed.',
  'too-large':
    'The tracker sends a packet that is too large, so that its connection is closed. Let it send fewer points at once.',
  'no-position': 'Its messages hold no position, by the choice of its profile.',
  'profile-does-not-read': 'The profile of the device does not fit its messages. Choose another one.',
  'not-json': 'Its messages are not JSON.',
  'bad-shape': 'Its messages do not have the form of a point.',
  'bad-coordinates': 'Its latitude or longitude is missing or out of range.',
  'no-fix': 'It sends 0, 0, which devices do that have no fix. Place it where it sees the sky.',
  'bad-timestamp': 'Its times cannot be read.',
  'clock-ahead': 'Its clock is more than 10 minutes ahead. Set the clock of the tracker.',
  'clock-behind': 'Its points are older than a year. Set the clock of the tracker.',
  'too-many': 'It sends more than 1,000 points in a message.',
  conflict: 'It sends several points with the same time, of which the first one counts.',
  encrypted: 'Its messages are encrypted. Switch the encryption of the app off.',
  unstorable: 'The database does not take its points.',
  'clock-late':
    'Its points come late: they were recorded long before they arrived. It sends what it has gathered, or its clock is behind.',
  inaccurate: 'Its last points are less accurate than the organization accepts.',
  'connection-deleted': 'The connection that brought its messages is deleted.',
  'connection-stopped': 'The connection that brings its messages is switched off.',
  'connection-failed': 'The connection that brings its messages has failed.',
  'connection-waiting': 'The connection that brings its messages waits for the broker.',
  'connection-does-not-read':
    'A connection receives messages, but its profile reads no point in them. Choose another profile.',
  'reference-unknown':
    'Messages arrive for references that no device has. Compare them with those of this device.',
  'no-connection':
    'The device has references, but there is no connection that could bring its messages. Create one.',
  'no-points': 'The tracker is connected, but has sent no new position.',
  'battery-empty': 'It has been silent since its battery was nearly empty.',
  silent: 'It has been silent. Check its power and its network.',
  'never-connected': 'It has never connected. Enter the values of the setup in the tracker.',
} as const

export type Cause = keyof typeof CAUSES

/** Which value of a cause is the time or the battery of a fix. */
export const OF_FIXES: { readonly [cause in Cause]?: 'at' | 'detail' } = {
  'fix-out-of-sight': 'at',
  inaccurate: 'at',
  'clock-late': 'detail',
  'battery-empty': 'detail',
}

/** Those that hide a device from somebody, whatever it sends. */
export const HIDES: ReadonlySet<Cause> = new Set([
  'deleted',
  'user-not-active',
  'role-without-positions',
  'role-with-few-positions',
  'hub-out-of-sight',
  'vehicle-out-of-sight',
  'fix-out-of-sight',
])
