import { z } from 'zod'
import { findUser } from '../../db/queries/accounts.ts'
import { failures, ok, success } from '../envelope.ts'
import { notFound } from '../errors.ts'
import type { App, Services } from '../services.ts'
import { permissionDetail, user } from './schemas.ts'

export function userRoutes(app: App, { db }: Services): void {
  app.get(
    '/user',
    {
      config: { access: 'session' },
      schema: {
        tags: ['Users'],
        summary: 'The calling user',
        response: {
          200: success(user.extend({ permissionDetails: z.array(permissionDetail) })),
          ...failures(401, 503),
        },
      },
    },
    async request => {
      const { caller } = request
      const found = await db.system(tx => findUser(tx, caller.userId))
      if (!found) throw notFound('user')
      return ok({ ...found, hubId: [], permissionDetails: caller.permissionDetails })
    },
  )
}
