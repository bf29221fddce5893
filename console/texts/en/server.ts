import type { components } from '../../api/interface.d.ts'

type Verdict = components['schemas']['HealthVerdict']

/** The texts of the page about the server, which are loaded with it. */
export const serverTexts = {
  title: 'Server health',
  lead: 'All processes and organizations of this server together. Only its owner sees this page.',
  notYours: 'Only the Owner of the first organization of this server sees how it is doing.',
  period: 'Period',
  periods: { day: '24 hours', month: '31 days', year: '1 year' },
  allWell: 'Everything is well.',
  toDo: (count: number, names: string) =>
    `${count === 1 ? 'One figure needs you' : `${count} figures need you`}: ${names}.`,
  none: 'The first figures come within two minutes of the start.',
  states: { good: 'Well', warning: 'Look at it', bad: 'Act now', unknown: 'Unknown' } satisfies Record<
    Verdict['state'],
    string
  >,
  figures: {
    points: 'Points a minute',
    online: 'Subjects online',
    stored: 'From receipt to stored',
    shown: 'From receipt to screen',
    waiting: 'Waiting to be stored',
    jobs: 'Background jobs',
    rejections: 'Rejected points a minute',
    disk: 'Disk used',
  } satisfies Record<Verdict['figure'], string>,
  series: {
    received: 'Received',
    stored: 'Stored',
    online: 'Online',
    storedSeconds: 'Seconds to stored',
    shownSeconds: 'Seconds to screen',
    waitingSeconds: 'Longest wait in seconds',
    lagRecords: 'Records behind in Kafka',
    jobsDue: 'Jobs due',
    jobsOldestSeconds: 'Oldest in seconds',
    jobsFailed: 'Failed within a day',
    rejected: 'Rejected',
    diskUsed: 'Used',
    databaseBytes: 'Database',
  },
  notes: {
    stored: 'The oldest point of 95 of 100 batches.',
    shown: 'The oldest point of a frame, in 95 of 100 of them.',
  },
  unknown: 'not known',
  plot: (name: string, from: string, to: string, least: string, most: string) =>
    `${name} from ${from} to ${to}: between ${least} and ${most}`,
  noPlot: (name: string) => `${name}: no figures in this period`,
  table: 'As a table',
  time: 'Time',
  full: (day: string) => `Full on ${day} if it goes on like this.`,
  notFull: 'It does not fill up within years.',
  ofDisk: (used: string, size: string) => `${used} of ${size}`,
  byReason: 'By reason, in this period:',
  toRejections: 'To the rejected points',
  causes: {
    'no-figures':
      'No figures have come for five minutes. Is a process with the role jobs running? Its log says why it writes none.',
    'points-stored': 'Points are accepted and stored.',
    'not-stored':
      'Points could not be stored. The log names the reason: the database is away, its disk is full, or a password has changed. Devices keep their points, or they wait in Kafka.',
    'points-stopped':
      'No point has come for ten minutes, and before that there were many. Check that devices reach this server: address, ports, the certificate of MQTT, connections to other brokers.',
    'online-steady': 'About as many as in the hour before.',
    'online-fell':
      'Fewer than half of those of the last hour. Look at what they share: the network, a connection to a broker, the certificate of MQTT.',
    'not-measured': 'No running process measures this.',
    'stored-quickly': 'Points are stored soon after they are received.',
    'stored-slowly':
      'Points are stored late. Look at the disk and processor of the database, then add processes with the role writer, or a larger machine.',
    'nothing-stored': 'Nothing was stored within five minutes.',
    'shown-quickly': 'Screens show points soon after they are received.',
    'shown-slowly':
      'Screens show points late. Look at the processor of the processes with the role live, and add one.',
    'nobody-watches': 'Nobody has watched a moving subject within five minutes.',
    'nothing-waits': 'Nothing waits for long.',
    'points-wait':
      'Points wait to be stored. The database or Kafka does not answer, or a partition stands still: the log names it. Devices keep what is not acknowledged.',
    'retention-near':
      'Points have waited in Kafka for more than half of its retention, and are lost when it ends. Get the database or the writers to work, or lengthen retention.ms of the topic.',
    'jobs-run': 'Background work is done on time.',
    'jobs-wait':
      'The oldest job has been waiting for over 15 minutes. Is a process with the role jobs running? If so, one kind has more work than turns.',
    'jobs-failed':
      'Some background work failed within the last day. The log names each job; imports, exports and webhooks say why in their own lists.',
    'few-rejected': 'Few points are rejected.',
    'many-rejected':
      'Many points were rejected within the last hour. The page of rejected points names the devices, and what to do.',
    'disk-has-room': 'There is room.',
    'disk-fills':
      'It is full within two weeks if it goes on like this. Make room, move DATA_DIR, or lower RETENTION_DAYS.',
    'disk-full':
      'It is nearly full, and nothing can be stored on a full disk. Make room, move DATA_DIR to a larger one, or lower RETENTION_DAYS. Exports and uploads go after 30 days.',
  } satisfies Record<Verdict['cause'], string>,
}

export type ServerTexts = typeof serverTexts
