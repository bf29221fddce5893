interface Kind {
  /** One of them, as permissions name it: `view/hub`. */
  singular: string
  icon: string
  /** Where a record opens: in a form on the page of its kind, or on the map. Users have no page. */
  opens: 'in-form' | 'on-map' | 'nowhere'
}

/**
 * The manifest of the kinds of records that have a name. Navigation, palette, search, the lists of the API, the router and the
 * server's list of addresses derive from it, in this order. The name of a kind is its path on the console and in the API.
 */
export const KINDS = {
  devices: { singular: 'device', icon: 'device', opens: 'in-form' },
  users: { singular: 'user', icon: 'user', opens: 'nowhere' },
  vehicles: { singular: 'vehicle', icon: 'vehicle', opens: 'in-form' },
  teams: { singular: 'team', icon: 'team', opens: 'in-form' },
  hubs: { singular: 'hub', icon: 'hub', opens: 'in-form' },
  geofences: { singular: 'geofence', icon: 'fence', opens: 'on-map' },
} as const satisfies Record<string, Kind>

export type KindName = keyof typeof KINDS
/** The kinds that have a page. */
export type PageKind = {
  [Name in KindName]: (typeof KINDS)[Name]['opens'] extends 'nowhere' ? never : Name
}[KindName]

export const PAGE_KINDS = (Object.keys(KINDS) as KindName[]).filter(
  (name): name is PageKind => KINDS[name].opens !== 'nowhere',
)

export const permissionTo = (deed: 'view' | 'create', kind: KindName): string =>
  `${deed}/${KINDS[kind].singular}`
