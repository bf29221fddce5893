interface Kind {
  /** One of them, as permissions name it: `view/hub`. */
  singular: string
  icon: string
  /** Where a record opens: in a form on the page of its kind, on the map, or nowhere: then the kind has no page. */
  opens: 'in-form' | 'on-map' | 'nowhere'
  /** The group of the navigation in which its page stands. */
  group: (typeof GROUPS)[number]
}

/** The groups of the navigation, in this order. */
export const GROUPS = ['watch', 'plan', 'fleet', 'data', 'trackers', 'administration'] as const

/**
 * The manifest of the kinds of records that have a name. Navigation, palette, search, the lists of the API, the router and the
 * server's list of addresses derive from it, in this order within a group. The name of a kind is its path on the console and in the API.
 */
export const KINDS = {
  tasks: { singular: 'task', icon: 'calendar', opens: 'in-form', group: 'plan' },
  devices: { singular: 'device', icon: 'device', opens: 'in-form', group: 'fleet' },
  vehicles: { singular: 'vehicle', icon: 'vehicle', opens: 'in-form', group: 'fleet' },
  teams: { singular: 'team', icon: 'team', opens: 'in-form', group: 'fleet' },
  hubs: { singular: 'hub', icon: 'hub', opens: 'in-form', group: 'fleet' },
  geofences: { singular: 'geofence', icon: 'fence', opens: 'on-map', group: 'fleet' },
  'data-types': { singular: 'data-type', icon: 'list', opens: 'in-form', group: 'data' },
  connections: { singular: 'connection', icon: 'download', opens: 'in-form', group: 'trackers' },
  // Who may do something with devices may do the same with profiles.
  'tracker-profiles': { singular: 'device', icon: 'ruler', opens: 'in-form', group: 'trackers' },
  users: { singular: 'user', icon: 'user', opens: 'in-form', group: 'administration' },
  'api-keys': { singular: 'api-key', icon: 'key', opens: 'in-form', group: 'administration' },
} as const satisfies Record<string, Kind>

export type KindName = keyof typeof KINDS
/** The kinds that have a page. */
export type PageKind = {
  [Name in KindName]: (typeof KINDS)[Name]['opens'] extends 'nowhere' ? never : Name
}[KindName]

export const PAGE_KINDS = (Object.keys(KINDS) as KindName[]).filter(
  (name): name is PageKind => (KINDS[name] as Kind).opens !== 'nowhere',
)

export const permissionTo = (deed: 'view' | 'create', kind: KindName): string =>
  `${deed}/${KINDS[kind].singular}`
