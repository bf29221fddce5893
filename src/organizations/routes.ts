import { z } from 'zod'
import {
  closeOrganization,
  findOrganization,
  raiseSight,
  updateOrganization,
} from '../../db/queries/organizations.ts'
import { deleteSession } from '../../db/queries/sessions.ts'
import { findUserName, lockMemberships } from '../../db/queries/users.ts'
import { differences, record } from '../audit/record.ts'
import { signedIn } from '../auth/schemas.ts'
import { answerSignedIn, type Opened, openSession, originOf, sessionEnded } from '../auth/sign-in.ts'
import { failures, id, ok, success } from '../envelope.ts'
import { notFound } from '../errors.ts'
import type { App, Services } from '../services.ts'
import { createOrganization, findSources } from './create.ts'
import { orderRemoval } from './remove.ts'
import { orderSampleData, removeSampleData } from './sample-data.ts'
import { newOrganization, organization, organizationChange } from './schemas.ts'

const tags = ['Organizations']

/** Specification section 7, case 3. */
const MAY_NOT_CREATE = 'You have no permission to create an organization. Please contact an administrator.'

export function organizationRoutes(app: App, { db, tokens }: Services): void {
  // The specification lists the operation under both paths.
  for (const path of ['/organization', '/auth/create-organization']) {
    app.post(
      path,
      {
        config: { access: 'create/organization', refusal: MAY_NOT_CREATE },
        schema: {
          tags,
          summary: 'Create an organization and go on in it',
          description: `The account becomes its owner, the session moves to it, and the token of this request is revoked.
Default roles and flows are made from templates; sample data follows in the background. The hub fields are required where
the account owns no organization that has hubs; otherwise its hubs are copied when they are left out.`,
          body: newOrganization,
          response: { 201: signedIn, ...failures(403) },
        },
      },
      async (request, reply) => {
        const { caller } = request
        const { organizationName } = request.body
        const opened = await db.system(async tx => {
          const name = await findUserName(tx, caller.userId)
          const sources = await findSources(tx, caller.accountId, request.body)
          const { organizationId, userId } = await createOrganization(tx, {
            ...sources,
            organizationName,
            owner: { accountId: caller.accountId, name },
          })
          await record(
            tx,
            { organizationId, userId },
            {
              action: 'create',
              resource: 'organization',
              resourceId: organizationId,
              changes: { name: { to: organizationName } },
            },
          )
          await orderSampleData(tx, organizationId)
          if (!(await deleteSession(tx, caller.sessionId))) throw sessionEnded()
          return openSession(tx, { accountId: caller.accountId, organizationId }, originOf(request))
        })
        reply.code(201)
        return answerSignedIn(tokens, opened as Opened, 'Organization created')
      },
    )
  }

  app.get(
    '/organization',
    {
      config: { access: 'view/organization' },
      schema: {
        tags,
        summary: 'The organization of the token',
        description: 'Its name, logo, language, currency, time zone and settings.',
        response: { 200: success(organization) },
      },
    },
    async ({ caller }) => {
      const found = await db.tenant(caller.organizationId, tx => findOrganization(tx, caller.organizationId))
      if (!found) throw notFound('organization')
      return ok(found)
    },
  )

  app.patch(
    '/organization',
    {
      config: { access: 'update/organization' },
      schema: {
        tags,
        summary: 'Change the organization of the token',
        description: 'Fields that are left out stay as they are; `settings` is replaced as a whole.',
        body: organizationChange,
        response: { 200: success(organization) },
      },
    },
    async request => {
      const { organizationId } = request.caller
      const changed = await db.tenant(organizationId, async tx => {
        await lockMemberships(tx, organizationId)
        const before = await findOrganization(tx, organizationId)
        await updateOrganization(tx, organizationId, request.body)
        const after = await findOrganization(tx, organizationId)
        if (!after) throw notFound('organization')
        await record(tx, request.caller, {
          action: 'update',
          resource: 'organization',
          resourceId: organizationId,
          changes: differences(before, after),
        })
        return after
      })
      return ok(changed, 'Organization changed')
    },
  )

  app.delete(
    '/organization',
    {
      config: { access: 'delete/organization' },
      schema: {
        tags,
        summary: 'Give up the organization of the token',
        description: `Ends every access to it at once: sessions, devices, live sockets. Its records are removed in the
background and cannot be brought back.`,
        response: { 200: success(z.object({ _id: id })) },
      },
    },
    async ({ caller }) => {
      await db.system(async tx => {
        await lockMemberships(tx, caller.organizationId)
        await closeOrganization(tx, caller.organizationId)
        await orderRemoval(tx, caller.organizationId)
        await raiseSight(tx, caller.organizationId)
      })
      return ok({ _id: caller.organizationId }, 'Organization given up')
    },
  )

  app.delete(
    '/organization/sample-data',
    {
      config: { access: 'update/organization' },
      schema: {
        tags,
        summary: 'Remove the sample data',
        description:
          'All records that were made with the organization and are marked `isSample`, and what is bound to them.',
        response: {
          200: success(
            z.object({
              _id: id.describe('The organization'),
              removed: z.record(z.string(), z.int()).describe('How many of each resource'),
            }),
          ),
        },
      },
    },
    async ({ caller }) => {
      const { organizationId } = caller
      const removed = await db.tenant(organizationId, async tx => {
        const counts = await removeSampleData(tx, organizationId)
        await record(tx, caller, { action: 'delete', resource: 'sample-data', resourceId: null })
        return counts
      })
      return ok({ _id: organizationId, removed }, 'Sample data removed')
    },
  )
}
