/** The sections of the settings in their order, with the permission that shows each; the own account needs none. */
export const SECTIONS = {
  organization: 'view/organization',
  roles: 'view/role',
  webhooks: 'view/webhook',
  'audit-log': 'view/audit',
  account: null,
} as const

export type SectionName = keyof typeof SECTIONS

/** The sections that somebody sees who may do this. */
export const sectionsFor = (may: (permission: string) => boolean): SectionName[] =>
  (Object.keys(SECTIONS) as SectionName[]).filter(name => {
    const needed = SECTIONS[name]
    return needed === null || may(needed)
  })
