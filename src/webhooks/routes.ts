import { z } from 'zod'
import { isUuid, type Queryable } from '../../db/client.ts'
import type { Caller } from '../../db/queries/sessions.ts'
import {
  DELIVERY_SORTS,
  DELIVERY_STATUSES,
  findDelivery,
  listDeliveries,
  orderDelivery,
  redeliver,
} from '../../db/queries/webhook-deliveries.ts'
import {
  deleteWebhook,
  findWebhook,
  insertWebhook,
  listWebhooks,
  rotateSecret,
  updateWebhook,
  WEBHOOK_SORTS,
  type Webhook,
} from '../../db/queries/webhooks.ts'
import { differences, record } from '../audit/record.ts'
import { dataAccess } from '../data/access.ts'
import { failures, id, list, ok, success } from '../envelope.ts'
import { conflict, forbidden, notFound } from '../errors.ts'
import { listed, listQuery, readPageRequest } from '../lists.ts'
import type { App, Services } from '../services.ts'
import { webhooksDocument } from './document.ts'
import { delivery, newWebhook, presentDelivery, webhook, webhookWithSecret } from './schemas.ts'
import { newSecret } from './send.ts'

const tags = ['Webhooks']
const params = z.object({ id })

export function webhookRoutes(app: App, { db }: Services): void {
  app.get(
    '/webhooks.json',
    {
      config: { access: 'public' },
      schema: {
        tags,
        summary: 'The events, as an OpenAPI document of their own',
        description: 'OpenAPI 3.1 with nothing but webhooks.',
        response: { 200: z.looseObject({ openapi: z.string() }) },
      },
    },
    async () => webhooksDocument,
  )

  app.get(
    '/webhooks',
    {
      config: { access: 'view/webhook' },
      schema: {
        tags,
        summary: 'The webhooks of the organization',
        description: 'Where events are sent.',
        querystring: listQuery(WEBHOOK_SORTS, 'createdAt'),
        response: { 200: list(webhook) },
      },
    },
    async request => {
      const page = readPageRequest(request.query, WEBHOOK_SORTS)
      const found = await db.tenant(request.caller.organizationId, tx => listWebhooks(tx, page))
      return listed(found, request.query)
    },
  )

  app.get(
    '/webhook/:id',
    {
      config: { access: 'view/webhook' },
      schema: {
        tags,
        summary: 'A webhook',
        description: 'Its secret is shown only when it is made or rotated.',
        params,
        response: { 200: success(webhook) },
      },
    },
    async ({ caller, params }) => ok(await db.tenant(caller.organizationId, tx => getWebhook(tx, params.id))),
  )

  app.post(
    '/webhook',
    {
      config: { access: 'create/webhook' },
      schema: {
        tags,
        summary: 'Make a webhook',
        description: `Its \`secret\` is shown once. Private, loopback and link-local addresses are refused when something
is to be delivered there. A role that restricts fields of data sources makes none: it would be sent all of them.`,
        body: newWebhook,
        response: { 201: success(webhookWithSecret) },
      },
    },
    async ({ caller, body }, reply) => {
      const { organizationId } = caller
      checkSeesAll(caller)
      const secret = newSecret()
      const made = await db.tenant(organizationId, async tx => {
        const webhookId = await insertWebhook(tx, organizationId, { ...body, secret })
        const found = await getWebhook(tx, webhookId)
        await log(tx, caller, 'create', webhookId, null, found)
        return found
      })
      reply.code(201)
      return ok({ ...made, secret }, 'Webhook made')
    },
  )

  app.put(
    '/webhook/:id',
    {
      config: { access: 'update/webhook' },
      schema: {
        tags,
        summary: 'Replace a webhook',
        description:
          'The secret stays. What still waits for one that is disabled fails, and may be redelivered later.',
        params,
        body: newWebhook,
        response: { 200: success(webhook) },
      },
    },
    async ({ caller, params, body }) => {
      checkSeesAll(caller)
      const changed = await db.tenant(caller.organizationId, async tx => {
        const before = await getWebhook(tx, params.id)
        await updateWebhook(tx, before._id, body)
        const after = await getWebhook(tx, before._id)
        await log(tx, caller, 'update', before._id, before, after)
        return after
      })
      return ok(changed, 'Webhook changed')
    },
  )

  app.delete(
    '/webhook/:id',
    {
      config: { access: 'delete/webhook' },
      schema: {
        tags,
        summary: 'Remove a webhook',
        description: 'With its deliveries; what still waits is not sent.',
        params,
        response: { 200: success(z.object({ _id: id })) },
      },
    },
    async ({ caller, params }) => {
      const removed = await db.tenant(caller.organizationId, async tx => {
        const before = await getWebhook(tx, params.id)
        await deleteWebhook(tx, before._id)
        await log(tx, caller, 'delete', before._id, before, null)
        return before._id
      })
      return ok({ _id: removed }, 'Webhook removed')
    },
  )

  app.post(
    '/webhook/:id/rotate-secret',
    {
      config: { access: 'update/webhook' },
      schema: {
        tags,
        summary: 'Give a webhook another secret',
        description: 'The one before signs along for 24 hours, so that a receiver can change over.',
        params,
        response: { 200: success(webhookWithSecret) },
      },
    },
    async ({ caller, params }) => {
      checkSeesAll(caller)
      const secret = newSecret()
      const changed = await db.tenant(caller.organizationId, async tx => {
        const { _id } = await getWebhook(tx, params.id)
        await rotateSecret(tx, _id, secret)
        await log(tx, caller, 'rotate-secret', _id, null, null)
        return getWebhook(tx, _id)
      })
      return ok({ ...changed, secret }, 'Secret rotated')
    },
  )

  app.get(
    '/webhook/:id/deliveries',
    {
      config: { access: 'view/webhook' },
      schema: {
        tags,
        summary: 'What was sent to a webhook, and what is waiting',
        description: `Newest first, kept for 30 days after the end. Fields that the role restricts are left out of the
payload, and then the answers of the receiver too, since they may repeat them.`,
        params,
        querystring: listQuery(DELIVERY_SORTS, '-createdAt').extend({
          status: z.enum(DELIVERY_STATUSES).optional(),
        }),
        response: { 200: list(delivery) },
      },
    },
    async ({ caller, params, query }) => {
      const page = readPageRequest(query, DELIVERY_SORTS)
      const found = await db.tenant(caller.organizationId, async tx => {
        const { _id } = await getWebhook(tx, params.id)
        return listDeliveries(tx, _id, { status: query.status }, page)
      })
      const access = dataAccess(caller, 'view/data')
      return listed({ ...found, rows: found.rows.map(row => presentDelivery(row, access)) }, query)
    },
  )

  app.post(
    '/webhook-delivery/:id/redeliver',
    {
      config: { access: 'update/webhook' },
      schema: {
        tags,
        summary: 'Send something again',
        description: 'With the same `webhook-id`, also what was delivered already.',
        params,
        response: { 202: success(delivery), ...failures(409) },
      },
    },
    async ({ caller, params }, reply) => {
      const { organizationId } = caller
      const again = await db.tenant(organizationId, async tx => {
        const found = isUuid(params.id) ? await findDelivery(tx, params.id) : null
        if (!found) throw notFound('delivery')
        const { status } = await getWebhook(tx, found.webhookId)
        if (status === 'disabled') throw conflict('The webhook is disabled. Make it active first.')
        await redeliver(tx, found._id)
        await orderDelivery(tx, organizationId, found.webhookId)
        await record(tx, caller, {
          action: 'redeliver',
          resource: 'webhook',
          resourceId: found.webhookId,
        })
        return findDelivery(tx, found._id)
      })
      reply.code(202)
      const shown = again as NonNullable<typeof again>
      return ok(presentDelivery(shown, dataAccess(caller, 'view/data')), 'Sent again')
    },
  )
}

async function getWebhook(tx: Queryable, webhookId: string): Promise<Webhook> {
  const found = isUuid(webhookId) ? await findWebhook(tx, webhookId) : null
  if (!found) throw notFound('webhook')
  return found
}

/** A webhook is sent every field of every record. */
function checkSeesAll(caller: Caller): void {
  if (!dataAccess(caller, 'view/data').restrictsAnything) return
  throw forbidden('Your role restricts fields of data sources, and a webhook is sent all of them.')
}

const log = (
  tx: Queryable,
  caller: Caller,
  action: string,
  resourceId: string,
  before: Webhook | null,
  after: Webhook | null,
) => record(tx, caller, { action, resource: 'webhook', resourceId, changes: differences(before, after) })
