import { isUuid } from '../../db/ids.ts'
import { MAX_TOPIC_BYTES, MAX_TOPIC_LEVELS } from './limits.ts'

/** Whether messages may be sent to this topic: it is not empty and has no wildcards. [MQTT-3.3.2-2], [MQTT-4.7.3-1] */
export function isTopicName(topic: string): boolean {
  return topic !== '' && !topic.includes('+') && !topic.includes('#')
}

/**
 * Whether it is a valid filter: a wildcard stands for a whole level, `#` only for the last. [MQTT-4.7.1-2],
 * [MQTT-4.7.1-3]
 */
export function isTopicFilter(filter: string): boolean {
  if (filter === '') return false
  const levels = filter.split('/')
  return levels.every(
    (level, index) => level === '+' || (level === '#' && index === levels.length - 1) || !/[+#]/.test(level),
  )
}

/** Whether it is the filter of a shared subscription, which several sessions divide among them. [MQTT 5, 4.8.2] */
export const isShared = (filter: string): boolean => filter.startsWith('$share/')

/** Whether a topic or filter is within Fieldline's limits. */
export function isWithinLimits(topic: string): boolean {
  // A character has up to three bytes, so most topics need not be counted.
  if (topic.length * 3 > MAX_TOPIC_BYTES && Buffer.byteLength(topic) > MAX_TOPIC_BYTES) return false
  let levels = 1
  for (let at = topic.indexOf('/'); at !== -1; at = topic.indexOf('/', at + 1)) levels++
  return levels <= MAX_TOPIC_LEVELS
}

/** Whether a message to `topic` matches `filter`. Wildcards at the start leave out topics of brokers. [MQTT-4.7.2-1] */
export function matches(filter: string, topic: string): boolean {
  if (topic.startsWith('$') && /^[+#]/.test(filter)) return false
  const wanted = filter.split('/')
  const levels = topic.split('/')
  for (const [index, level] of wanted.entries()) {
    if (level === '#') return true
    if (index >= levels.length || (level !== '+' && level !== levels[index])) return false
  }
  return wanted.length === levels.length
}

/** The prefix of a publisher's topics; it may subscribe only below it. */
export function topicsOf(publisher: { kind: 'device' | 'user'; id: string; isApiKey?: boolean }): string {
  return `${publisher.isApiKey ? 'api-key' : publisher.kind}s/${publisher.id}/`
}

/** The device on whose topic an API key publishes, in lower case; null for any other topic. */
export function deviceOfTopic(topic: string): string | null {
  const id = /^devices\/([^/]{36})\/location$/.exec(topic)?.[1]
  return isUuid(id) ? id.toLowerCase() : null
}
