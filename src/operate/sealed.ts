import type { Queryable } from '../../db/client.ts'
import { listConnectionSecretsOf } from '../../db/queries/connection-secrets.ts'
import { listSealedSecretsOf } from '../../db/queries/webhooks.ts'
import type { Secrets } from '../../db/secret.ts'
import { createBrokerSecrets } from '../resources/connections/secrets.ts'
import { createWebhookSecrets } from '../resources/webhooks/secrets.ts'

/** The names of what an organization has sealed with a secret that this server does not have. */
export async function listClosedSecrets(
  db: Queryable,
  organizationId: string,
  jwtSecret: Secrets,
): Promise<string[]> {
  const webhooks = createWebhookSecrets(jwtSecret)
  const brokers = createBrokerSecrets(jwtSecret)
  const closed = [
    ...(await listSealedSecretsOf(db, organizationId))
      .filter(({ _id, secret }) => webhooks.open(secret, _id) === null)
      .map(({ url }) => `the webhook to ${url}`),
    ...(await listConnectionSecretsOf(db, organizationId))
      .filter(({ _id, secrets }) => brokers.open(secrets, _id) === null)
      .map(({ name }) => `the connection ${name}`),
  ]
  return closed
}
