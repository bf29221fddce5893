import { newId, type Queryable } from '../../../db/client.ts'
import { timeOfDay } from '../../../db/clock.ts'
import { ALL_HUBS } from '../../../db/hub-rule.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import {
  DELIVERY_SORTS,
  findDelivery,
  listDeliveries,
  redeliver,
} from '../../../db/queries/webhook-deliveries.ts'
import { insertTest, orderDelivery } from '../../../db/queries/webhook-events.ts'
import {
  beginTest,
  deleteWebhook,
  findWebhook,
  insertWebhook,
  listWebhooks,
  rotateSecret,
  TEST_EVERY_S,
  updateWebhook,
  WEBHOOK_SORTS,
} from '../../../db/queries/webhooks.ts'
import { type DeliveredEvent, TEST_EVENT, type WebhookEvent } from '../../../db/schema/webhooks.ts'
import { audited, record } from '../../http/audit.ts'
import { created, ok } from '../../http/envelope.ts'
import { conflict, forbidden, found, RequestError } from '../../http/errors.ts'
import { listed, readPageRequest } from '../../http/lists.ts'
import { scopeOf } from '../../http/permissions.ts'
import { reauthorize } from '../../http/reauthorize.ts'
import type { App, Services } from '../../services.ts'
import { dataAccess } from '../data/access.ts'
import * as operations from './schemas.ts'
import { createWebhookSecrets, newSecret } from './secrets.ts'

export function webhookRoutes(app: App, { db, config }: Services): void {
  const secrets = createWebhookSecrets(config.jwtSecret)

  app.get('/webhooks', operations.listWebhooks, async ({ caller, query }) => {
    const page = readPageRequest(query, WEBHOOK_SORTS)
    return listed(await db.tenant(caller.organizationId, tx => listWebhooks(tx, page)), query)
  })

  app.get('/webhook/:id', operations.getWebhook, async ({ caller, params }) =>
    ok(await db.tenant(caller.organizationId, tx => getWebhook(tx, params.id))),
  )

  app.post('/webhook', operations.createWebhook, async (request, reply) => {
    const secret = newSecret()
    const webhook = await audited(db, request, async (tx, caller) => {
      checkSeesAll(await reauthorize(tx, caller, 'create/webhook'), request.body.events)
      const id = newId()
      await insertWebhook(tx, caller.organizationId, {
        ...request.body,
        id,
        secret: secrets.seal(secret, id),
      })
      return { before: null, after: await getWebhook(tx, id) }
    })
    return created(reply, { ...webhook, secret }, 'Webhook created')
  })

  app.put('/webhook/:id', operations.replaceWebhook, async request => {
    const { body, params } = request
    const webhook = await audited(db, request, async (tx, caller) => {
      const now = await reauthorize(tx, caller, 'update/webhook')
      const before = await getWebhook(tx, params.id)
      checkSeesAll(now, [...body.events, ...before.events])
      await updateWebhook(tx, params.id, body)
      return { before, after: await getWebhook(tx, params.id) }
    })
    return ok(webhook, 'Webhook changed')
  })

  app.delete('/webhook/:id', operations.deleteWebhook, async request => {
    const { id } = request.params
    await audited(db, request, async tx => {
      const before = await getWebhook(tx, id)
      await deleteWebhook(tx, id)
      return { before, after: null }
    })
    return ok({ _id: id }, 'Webhook deleted')
  })

  app.post('/webhook/:id/rotate-secret', operations.rotateSecret, async request => {
    const { id } = request.params
    const secret = newSecret()
    const rotate = async (tx: Queryable, caller: Caller) => {
      const now = await reauthorize(tx, caller, 'update/webhook')
      const before = await getWebhook(tx, id)
      checkSeesAll(now, before.events)
      await rotateSecret(tx, id, secrets.seal(secret, id))
      return { before, after: await getWebhook(tx, id) }
    }
    const webhook = await audited(db, request, rotate, 'rotate-secret')
    return ok({ ...webhook, secret }, 'Secret rotated')
  })

  app.get('/webhook/:id/deliveries', operations.listDeliveries, async ({ caller, params, query }) => {
    const page = readPageRequest(query, DELIVERY_SORTS)
    const deliveries = await db.tenant(caller.organizationId, async tx => {
      const { _id } = await getWebhook(tx, params.id)
      return listDeliveries(tx, _id, { status: query.status }, page)
    })
    const access = dataAccess(caller, 'view/data')
    const rows = deliveries.rows.map(row =>
      operations.presentDelivery(row, access, event => seesAll(caller, event)),
    )
    return listed({ ...deliveries, rows }, query)
  })

  app.post('/webhook/:id/test', operations.testWebhook, async ({ caller, params: { id } }, reply) => {
    const { organizationId } = caller
    const delivery = await db.tenant(organizationId, async tx => {
      await getActive(tx, id)
      if (!(await beginTest(tx, id)))
        throw new RequestError('rate-limited', 'This webhook was tested a moment ago.', {}, TEST_EVERY_S)
      const payload = { test: true, webhookId: id, sentAt: new Date(timeOfDay()).toISOString() }
      const deliveryId = await insertTest(tx, organizationId, id, JSON.stringify(payload))
      await orderDelivery(tx, organizationId, id)
      await record(tx, caller, { action: 'test', resource: 'webhook', resourceId: id })
      return found('webhook delivery', await findDelivery(tx, deliveryId))
    })
    reply.code(202)
    return ok(
      operations.presentDelivery(delivery, dataAccess(caller, 'view/data'), event => seesAll(caller, event)),
      'Test sent',
    )
  })

  app.post('/webhook-delivery/:id/redeliver', operations.redeliver, async ({ caller, params }, reply) => {
    const { organizationId } = caller
    const delivery = await db.tenant(organizationId, async tx => {
      const { webhookId } = found('webhook delivery', await findDelivery(tx, params.id))
      await getActive(tx, webhookId)
      await redeliver(tx, params.id)
      await orderDelivery(tx, organizationId, webhookId)
      await record(tx, caller, { action: 'redeliver', resource: 'webhook', resourceId: webhookId })
      return found('webhook delivery', await findDelivery(tx, params.id))
    })
    reply.code(202)
    return ok(
      operations.presentDelivery(delivery, dataAccess(caller, 'view/data'), event => seesAll(caller, event)),
      'Sent again',
    )
  })
}

const getWebhook = async (tx: Queryable, webhookId: string) =>
  found('webhook', await findWebhook(tx, webhookId))

/** Throws 409 if the webhook is disabled: it sends nothing. */
async function getActive(tx: Queryable, webhookId: string): Promise<void> {
  const { status } = await getWebhook(tx, webhookId)
  if (status === 'disabled') throw conflict('The webhook is disabled. Make it active first.')
}

/** Throws 403 unless the role may see every field of every record and all crossings, because a webhook gets all of them. */
function checkSeesAll(caller: Caller, events: readonly WebhookEvent[]): void {
  if (!dataAccess(caller, 'view/data').seesEverything)
    throw forbidden(
      'A webhook is sent every field of every record. Your role lacks view/data on every data type and field.',
    )
  if (events.some(event => event.startsWith('geofence-') && !seesAll(caller, event)))
    throw forbidden(
      'A webhook is sent what everybody crosses. Your role lacks view/geofence, view/location of all, or some hubs.',
    )
  if (events.some(event => event === 'command-finished' && !seesAll(caller, event)))
    throw forbidden(
      'A webhook is sent the commands of every device. Your role lacks view/command, or some hubs.',
    )
}

/** Whether the caller may see every crossing, every command, or tests. */
function seesAll({ permissionDetails, hubIds }: Caller, event: DeliveredEvent): boolean {
  if (event === TEST_EVENT) return true
  if (hubIds !== ALL_HUBS) return false
  if (event === 'command-finished') return scopeOf(permissionDetails, 'view/command') !== null
  return (
    scopeOf(permissionDetails, 'view/geofence') !== null &&
    scopeOf(permissionDetails, 'view/location') === 'all'
  )
}
