import type { PageKind } from '../../kinds.ts'

/** The texts that every kind of records needs, beside texts of its own. */
interface KindTexts {
  title: string
  lead: string
  create: string
  [own: string]: unknown
}

/** The texts of tables and forms. */
export const recordTexts = {
  records: {
    count: (count: number, text: string) => (count === 1 ? '1 entry' : `${text} entries`),
    countLoaded: (loaded: string, all: string) => `Loading: ${loaded} of ${all}`,
    none: 'Nothing here yet',
    noneFound: 'No matches',
    noneFoundHint: 'Clear the search to see everything.',
    missing: 'Not found: it was deleted, or your role can’t see it.',
    elsewhere: 'It may belong to another of your organizations. Switch to it and open the link again.',
    backTo: (where: string) => `Back to ${where}`,
    name: 'Name',
    delete: 'Delete',
  },
  kinds: {
    tasks: { title: 'Tasks', lead: 'The work of a day, and who does it.', create: 'New task' },
    devices: {
      title: 'Devices',
      lead: 'Everything that sends positions: trackers and phones.',
      create: 'Add device',
      seen: 'Last seen',
      setup: 'Set up',
      newKey: 'New key',
      newKeyAsk: (name: string) =>
        `Create a new key for ${name}? The device can’t send until the new key is entered.`,
      deleteAsk: (name: string) => `Delete ${name}? It can no longer send. Its history is kept.`,
      replace: 'Replace it',
      replaceAsk: (vehicle: string, other: string) =>
        `${vehicle} already has the device ${other}. Replace it with this one? ${other} stays without a vehicle.`,
      replaced: (other: string, vehicle: string) => `${other} was taken off ${vehicle}.`,
    },
    vehicles: {
      title: 'Vehicles',
      lead: 'Your fleet. A vehicle’s position comes from the device mounted on it.',
      create: 'Add vehicle',
      plate: 'Plate',
      tags: 'Tags',
      deleteAsk: (name: string) => `Delete ${name}? The history of its devices is kept.`,
      take: 'Move it here',
      takeAsk: (device: string, other: string) =>
        `${device} is mounted on ${other}. Move it here? ${other} is then no longer on the map.`,
      taken: (device: string, other: string, vehicle: string) =>
        `${device} was moved from ${other} to ${vehicle}.`,
    },
    teams: {
      title: 'Teams',
      lead: 'Who works together. A role can be limited to the tasks and positions of its own teams.',
      create: 'Add team',
      members: 'Members',
      leaders: 'Leaders',
      deleteAsk: (name: string) => `Delete ${name}? Its members are kept.`,
    },
    hubs: {
      title: 'Hubs',
      lead: 'Where work starts: depots, offices, yards.',
      create: 'Add hub',
      address: 'Address',
      lat: 'Latitude',
      lng: 'Longitude',
      deleteAsk: (name: string) => `Delete ${name}?`,
    },
    geofences: {
      title: 'Geofences',
      lead: 'Named areas that report who enters and leaves. Draw and edit them on the map.',
      create: 'New geofence',
    },
    connections: {
      title: 'Connections',
      lead: 'Ways in for many trackers at once: other platforms and brokers.',
      create: 'Add connection',
    },
    'tracker-profiles': {
      title: 'Profiles',
      lead: 'How messages of trackers are read.',
      create: 'New profile',
    },
    'api-keys': {
      title: 'API keys',
      lead: 'For programs. A key can do what its role can.',
      create: 'Create API key',
    },
    users: {
      title: 'Users',
      lead: 'Who works here, in which role, and in which hubs.',
      create: 'Invite user',
    },
    'data-types': {
      title: 'Data',
      lead: 'Customers, products, and whatever else tasks are about.',
      create: 'New data type',
    },
  } satisfies Record<PageKind, KindTexts>,
  form: {
    unknown: 'Unknown',
    save: 'Save',
    saving: 'Saving…',
    cancel: 'Cancel',
    overtaken: 'Someone else has changed this in the meantime. Save again to keep your version.',
    takeTheirs: 'Use their version',
    theirs: 'Someone else has changed this in the meantime.',
    theirsIs: (value: string) => `Someone else has changed this to ${value} in the meantime.`,
    theirsIsNone: 'Someone else has cleared this in the meantime.',
    shownOnce: 'This is only shown once. Choose “Done” to close it.',
    shown: 'Only shown once',
    shownAsk: 'What is shown here can’t be shown again.',
    back: 'Go back to it',
    unsaved: 'Unsaved changes',
    leaveAsk: 'You have unsaved changes.',
    leave: 'Discard',
    stay: 'Keep editing',
    undo: 'Undo',
    close: 'Close',
    none: 'None',
    optional: 'optional',
    required: 'This is required.',
  },
}
