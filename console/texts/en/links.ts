/** The texts of tracking links, which are loaded with their pages. */
export const linkTexts = {
  title: 'Tracking links',
  lead: 'Anyone with a link can see where one subject is, until the link expires or is revoked.',
  create: (name: string) => `Share where ${name} is`,
  explain: 'Anyone with the link sees the name, position and trail, and nothing else. No sign-in needed.',
  explainTask:
    'Anyone with the link sees the name, position, trail and the place of the task, and nothing else, until the task is done. No sign-in needed.',
  duration: 'Valid for',
  durations: { hour: '1 hour', shift: '8 hours', day: '1 day', week: '1 week' },
  trail: 'Trail',
  trails: { none: 'None', hour: 'Last hour', day: 'Last day' },
  make: 'Create link',
  made: 'The link is only shown once. Copy it now.',
  url: 'Link',
  subject: 'Subject',
  task: 'Task',
  expires: 'Expires',
  expired: 'Expired',
  trailMinutes: 'Trail',
  created: 'Created',
  revoke: 'Revoke',
  revokeAsk: (name: string) => `Revoke the link to ${name}? Anyone viewing it loses access immediately.`,
  revoked: 'Link revoked.',
  active: 'Active links',
  none: 'No links yet',
  noneHint: 'Select something on the live map and share it.',
}

export type LinkTexts = typeof linkTexts
