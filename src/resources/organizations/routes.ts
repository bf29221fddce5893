import { notify } from '../../../db/client.ts'
import {
  closeOrganization,
  DEFAULT_LANGUAGE,
  findOrganization,
  type Organization,
  updateOrganization,
} from '../../../db/queries/organizations.ts'
import { findUserName, lockMemberships } from '../../../db/queries/users.ts'
import { audited, record } from '../../http/audit.ts'
import { ok } from '../../http/envelope.ts'
import { forbidden, found } from '../../http/errors.ts'
import { scopeOf } from '../../http/permissions.ts'
import type { App, Services } from '../../services.ts'
import { answerSignedIn } from '../auth/sign-in.ts'
import { checkOrganizationsLeft, enterOrganization, findSources } from './create.ts'
import { orderRemoval } from './removal.ts'
import { createSampleCompany, readSampleProgress } from './sample-data.ts'
import { deleteSampleData } from './sample-removal.ts'
import * as operations from './schemas.ts'

const show = (organization: Organization) => ({
  ...organization,
  language: organization.language ?? DEFAULT_LANGUAGE,
  settings: operations.knownSettings(organization.settings),
})

export function organizationRoutes(app: App, { db, tokens, lastSeen }: Services): void {
  // The specification lists the operation under both paths.
  for (const path of ['/organization', '/auth/create-organization']) {
    app.post(path, operations.createOrganization, async (request, reply) => {
      const { caller, body } = request
      await lastSeen.flushUsers()
      const opened = await db.system.transaction(async tx => {
        const name = await findUserName(tx, caller.userId)
        await checkOrganizationsLeft(tx, caller.accountId)
        return enterOrganization(tx, request, {
          ...(await findSources(tx, caller.accountId, body)),
          organizationName: body.organizationName,
          owner: { accountId: caller.accountId, name },
        })
      })
      reply.code(201)
      return answerSignedIn(tokens, opened, 'Organization created')
    })
  }

  app.get('/organization', operations.getOrganization, async ({ caller: { organizationId } }) =>
    ok(
      show(
        found('organization', await db.tenant(organizationId, tx => findOrganization(tx, organizationId))),
      ),
    ),
  )

  app.patch('/organization', operations.updateOrganization, async request => {
    const organization = await audited(db, request, async (tx, { organizationId }) => {
      await lockMemberships(tx, organizationId)
      const before = found('organization', await findOrganization(tx, organizationId))
      const settings = { ...before.settings, ...request.body.settings }
      await updateOrganization(tx, organizationId, { ...request.body, settings })
      // Open sockets of members without a second factor are closed.
      if (request.body.settings?.requireSecondFactor) await notify(tx, { kind: 'visibility', organizationId })
      return { before, after: found('organization', await findOrganization(tx, organizationId)) }
    })
    return ok(show(organization), 'Organization changed')
  })

  app.delete('/organization', operations.deleteOrganization, async ({ caller: { organizationId } }) => {
    await db.system.transaction(async tx => {
      await lockMemberships(tx, organizationId)
      await closeOrganization(tx, organizationId)
      await orderRemoval(tx, organizationId)
    })
    return ok({ _id: organizationId }, 'Organization deleted')
  })

  app.get('/organization/sample-data', operations.getSampleData, async ({ caller: { organizationId } }) =>
    ok(
      await db.tenant(organizationId, async tx => ({
        _id: organizationId,
        ...(await readSampleProgress(tx)),
      })),
    ),
  )

  app.post('/organization/sample-data', operations.createSampleData, async (request, reply) => {
    const { caller } = request
    const { organizationId, userId } = caller
    const lacking = operations.CREATED.find(name => scopeOf(caller.permissionDetails, name) !== 'all')
    if (lacking) throw forbidden(`Your role lacks the permission ${lacking}, which the sample company needs.`)
    const state = await db.tenant(organizationId, async tx => {
      await lockMemberships(tx, organizationId)
      const state = await createSampleCompany(tx, organizationId, userId)
      await record(tx, caller, { action: 'create', resource: 'sample-data', resourceId: null })
      return state
    })
    reply.code(202)
    return ok({ _id: organizationId, ...state }, 'The sample company is being created')
  })

  app.delete('/organization/sample-data', operations.deleteSampleData, async ({ caller }) => {
    const { organizationId } = caller
    const removed = await deleteSampleData(db, organizationId, tx =>
      record(tx, caller, { action: 'delete', resource: 'sample-data', resourceId: null }),
    )
    return ok({ _id: organizationId, removed }, 'Sample data deleted')
  })
}
