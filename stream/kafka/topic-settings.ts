import { type Admin, ConfigResourceTypes } from 'kafkajs'

/** The settings of the topic of points, as Fieldline creates it and needs it. */
export function settingsOf(replication: number): { [name: string]: string } {
  return {
    'retention.ms': `${RETENTION_MS}`,
    'cleanup.policy': 'delete',
    // One of three brokers may be away without blocking anybody, and an acknowledged record is on two.
    'min.insync.replicas': replication >= 3 ? '2' : '1',
    'unclean.leader.election.enable': 'false',
    // The broker's clock, so that retention does not follow a wrong clock of ours.
    'message.timestamp.type': 'LogAppendTime',
  }
}

export const RETENTION_MS = 30 * 24 * 3600_000

/** The settings that a topic has, by name. Rejects where the user has no right to describe them. */
async function readSettings(admin: Admin, topic: string): Promise<ReadonlyMap<string, string>> {
  const names = Object.keys(settingsOf(1))
  const resource = { type: ConfigResourceTypes.TOPIC, name: topic, configNames: names }
  const { resources } = await admin.describeConfigs({ resources: [resource], includeSynonyms: false })
  return new Map(resources[0]?.configEntries.map(({ configName, configValue }) => [configName, configValue]))
}

/** How long a topic keeps its records, in milliseconds; infinite where nothing is deleted by age. */
export async function readRetentionMs(admin: Admin, topic: string): Promise<number> {
  const settings = await readSettings(admin, topic)
  const ms = Number(settings.get('retention.ms'))
  return ms < 0 || !settings.get('cleanup.policy')?.includes('delete') ? Number.POSITIVE_INFINITY : ms
}

/**
 * Says which settings of a topic lose points or keep fewer copies than Fieldline needs; null if none do. A topic of an
 * administrator may keep records longer and on more brokers.
 */
export async function findUnfit(admin: Admin, topic: string, replication: number): Promise<string | null> {
  const found = await readSettings(admin, topic)
  const needed = settingsOf(replication)
  const number = (name: string) => Number(found.get(name))
  const retentionMs = number('retention.ms')
  const isUnfit: { [name: string]: boolean } = {
    'retention.ms': retentionMs >= 0 && retentionMs < RETENTION_MS,
    'cleanup.policy': found.get('cleanup.policy')?.includes('compact') ?? false,
    'min.insync.replicas': number('min.insync.replicas') < Number(needed['min.insync.replicas']),
    'unclean.leader.election.enable': found.get('unclean.leader.election.enable') === 'true',
    'message.timestamp.type': found.get('message.timestamp.type') === 'CreateTime',
  }
  const wrong = Object.keys(isUnfit).filter(name => isUnfit[name])
  if (wrong.length === 0) return null
  const words = wrong.map(name => `${name} ${found.get(name)} instead of ${needed[name]}`)
  return `The topic ${topic} has ${words.join(', ')}: it may lose points that were acknowledged (docs/kafka.md, "Rights").`
}
