import type { components } from '../../api/interface.d.ts'

type Reason = components['schemas']['Rejection']['reason']

/** The texts of the page about rejected points, which are loaded with it. */
export const rejectionTexts = {
  title: 'Rejected points',
  lead: 'What was sent but rejected, and why: the last 1,000 per device from 30 days, counted since the beginning.',
  allDevices: 'All devices',
  none: 'No rejected points',
  noneHint: 'Everything sent so far was accepted.',
  noneOf: (reason: string) => `Nothing was rejected recently for this reason: ${reason}`,
  showAll: 'Show all reasons',
  received: 'Received',
  reason: 'Reason',
  message: 'Details',
  payload: 'Data sent',
  reasons: {
    'not-json': 'Not JSON',
    'bad-shape': 'Not a position',
    'bad-coordinates': 'Invalid coordinates',
    'no-fix': 'No fix',
    'bad-timestamp': 'Invalid time',
    future: 'In the future',
    'too-old': 'Too old',
    'too-many': 'Too many at once',
    conflict: 'Conflicts with an earlier one',
    encrypted: 'Encrypted',
    unstorable: 'Cannot be stored',
  } satisfies Record<Reason, string>,
  advice: {
    'not-json': 'Set the app or device to send JSON.',
    'bad-shape': 'Check the format that the app or device sends.',
    'bad-coordinates': 'Send decimal degrees with a point.',
    'no-fix': 'The device could not locate itself.',
    'bad-timestamp': 'Send the time with its offset.',
    future: 'Check the device’s clock.',
    'too-old': 'Positions are kept for a year.',
    'too-many': 'Send fewer positions at once.',
    conflict: 'The first one was kept.',
    encrypted: 'Switch encryption off in the app.',
    unstorable: 'Ask an administrator.',
  } satisfies Record<Reason, string>,
}

export type RejectionTexts = typeof rejectionTexts
