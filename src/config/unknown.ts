import type { Env } from './reader.ts'

/** Those of clients of the public interface, such as `npm run mcp`, and of the tests. */
const OTHERS = new Set([
  ...['FIELDLINE_URL', 'FIELDLINE_API_KEY', 'FIELDLINE_EMAIL', 'FIELDLINE_PASSWORD', 'FIELDLINE_CACHE'],
])
/** Every other name that begins so is meant for Fieldline, but for the exceptions below. */
const PREFIXES = [
  ...['FIELDLINE_', 'DATABASE_', 'KAFKA_', 'MQTT_', 'JWT_', 'WEBHOOK_', 'CONNECTIONS_', 'BASEMAP_'],
  ...['RATE_LIMIT_', 'LIVE_SOCKETS_', 'EXPORT_DIRECT_', 'CORS_', 'TRUSTED_PROXIES_', 'DRAIN_', 'RETENTION_'],
  ...[
    'METRICS_',
    'DATA_DIR_',
    'ROLES_',
    'LOG_LEVEL_',
    'ALLOW_SIGNUP_',
    'SMTP_',
    'MAIL_',
    'PUBLIC_URL_',
    'OIDC_',
  ],
]
/** Kubernetes adds these for each service of the namespace, for example `KAFKA_PORT=tcp://…` for one named "kafka". */
const LINK = /^(tcp|udp|sctp):\/\//i
const OF_A_SERVICE = /_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/
/** Kafka's own programs, and the compose files of docs/deploy. */
const OF_KAFKA = /^KAFKA_(HOME|CLUSTER_ID|\w*OPTS)$/
/** Marathon and its successors number the ports of a container so. */
const NUMBERED_PORTS = /^PORT(S|\d)$/
/** Too many words are one letter away from a shorter name, such as POST from HOST. */
const SHORT_NAME = 5

/**
 * Variables that somebody has mistyped: without the variable that was meant, a server would start with its default, for
 * example on an empty embedded database. One sentence for each.
 */
export function findMistyped(given: Env, known: ReadonlySet<string>): string[] {
  const problems: string[] = []
  for (const [name, value] of Object.entries(given)) {
    if (known.has(name) || isOfOthers(name, value ?? '')) continue
    const meant = [...known].find(one => isOneLetterAway(name, one))
    if (meant) problems.push(`${name} is no variable of Fieldline, ${meant} is`)
    else if (PREFIXES.some(prefix => name.startsWith(prefix)))
      problems.push(`${name} is no variable of Fieldline: unset it, or see the table in README.md`)
  }
  return problems
}

const isOfOthers = (name: string, value: string) =>
  LINK.test(value) ||
  OTHERS.has(name) ||
  [OF_A_SERVICE, OF_KAFKA, NUMBERED_PORTS].some(pattern => pattern.test(name))

/**
 * Whether one letter is added, left out or another one, or two neighbours are exchanged. Another letter in a short name
 * makes another word.
 */
function isOneLetterAway(one: string, known: string): boolean {
  if (Math.abs(one.length - known.length) > 1) return false
  let same = 0
  while (same < one.length && one[same] === known[same]) same++
  const [restOfOne, restOfKnown] = [one.slice(same), known.slice(same)]
  return (
    (known.length > SHORT_NAME && restOfOne.slice(1) === restOfKnown.slice(1)) ||
    restOfOne.slice(1) === restOfKnown ||
    restOfOne === restOfKnown.slice(1) ||
    (restOfOne.slice(2) === restOfKnown.slice(2) &&
      restOfOne[0] === restOfKnown[1] &&
      restOfOne[1] === restOfKnown[0])
  )
}
