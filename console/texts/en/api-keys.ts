/** The texts of API keys, which are loaded with their page. */
export const apiKeyTexts = {
  role: 'Role',
  hubs: 'Hubs',
  key: 'Key',
  used: 'Last used',
  usedFrom: 'From',
  expires: 'Expires',
  expired: 'Expired',
  never: 'Never',
  lasts: { never: 'Never', month: 'In 30 days', quarter: 'In 90 days', year: 'In a year' },
  keepsDate: (date: string) => `On ${date}`,
  createdBy: 'Created by',
  formerUntil: (date: string) => `The former key works until ${date}.`,
  rotate: 'New key',
  rotateLead: (name: string) => `Create a new key for ${name}. How long does the old one keep working?`,
  overlap: 'Old key works for',
  overlaps: { none: 'Ends now', hour: '1 hour', day: '1 day', week: '7 days' },
  isExpired: 'This key has expired. Create another one.',
  shown: (name: string) => `Key of ${name}`,
  copyNow: 'The key is only shown once. Copy it now, and keep it where passwords are kept.',
  howTo: 'Send it with every request',
  deleteAsk: (name: string) => `Delete ${name}? Programs that use it lose access immediately.`,
}

export type ApiKeyTexts = typeof apiKeyTexts
