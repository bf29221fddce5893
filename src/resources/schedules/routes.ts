import {
  findSchedule,
  listSchedules,
  readScheduleDefaults,
  SCHEDULE_SORTS,
  type Schedule,
} from '../../../db/queries/schedules.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import { created, ok } from '../../http/envelope.ts'
import { found } from '../../http/errors.ts'
import { listed, readPageRequest, splitIds } from '../../http/lists.ts'
import type { App, Services } from '../../services.ts'
import { releaseTasks } from '../tasks/release.ts'
import { MAX_STEPS } from './occurrences.ts'
import { createPresenter } from './present.ts'
import { completeTiming, preview } from './preview.ts'
import * as operations from './schemas.ts'
import { MAX_BYTES } from './schemas.ts'
import {
  changeSchedule,
  createEach,
  createSchedule,
  merging,
  planNew,
  removeSchedule,
  replacing,
} from './writes.ts'

export function scheduleRoutes(app: App, { db, scheduler }: Services): void {
  const show = async (caller: Caller, schedule: Schedule, set?: object) =>
    (await createPresenter(db, caller, [schedule]))(schedule, set)

  app.get('/task/schedules', operations.listSchedules, async ({ caller, query }) => {
    const page = readPageRequest(query, SCHEDULE_SORTS)
    const { organizationId, hubIds } = caller
    const filter = {
      flowIds: splitIds(query.flowId),
      hubIds: splitIds(query.hubId),
      teamIds: splitIds(query.teamId),
    }
    const listing = await db.tenant(organizationId, tx => listSchedules(tx, hubIds, filter, page))
    const present = await createPresenter(db, caller, listing.rows)
    return listed({ ...listing, rows: listing.rows.map(row => present(row)) }, query)
  })

  app.get('/task/schedule/:id', operations.getSchedule, async ({ caller, params }) => {
    const { organizationId, hubIds } = caller
    const schedule = await db.tenant(organizationId, tx => findSchedule(tx, params.id, hubIds))
    return ok(await show(caller, found('schedule', schedule)))
  })

  app.post('/task/schedule', operations.createSchedule, async ({ caller, body }, reply) => {
    const { organizationId } = caller
    const defaults = await db.tenant(organizationId, readScheduleDefaults)
    const planned = await scheduler.walk(organizationId, planNew(body, defaults, { stepsLeft: MAX_STEPS }))
    const schedule = await db.tenant(organizationId, tx => createSchedule(tx, caller, planned))
    return created(reply, await show(caller, schedule, body.content), 'Task schedule created')
  })

  const bulk = { ...operations.createSchedules, bodyLimit: MAX_BYTES }
  app.post('/task/schedules/bulk', bulk, async ({ caller, body, log }) => {
    const outcomes = await createEach(db, scheduler, caller, body.schedules, err =>
      log.warn({ err }, 'The rest of a list of schedules was not created'),
    )
    const failed = outcomes.filter(({ status }) => status === 'failed').length
    return ok(
      outcomes,
      failed > 0 ? `${failed} of ${outcomes.length} could not be created` : 'Task schedules created',
    )
  })

  app.post('/task/schedules/preview', operations.previewSchedule, async ({ caller, body }) => {
    const { organizationId } = caller
    const defaults = await db.tenant(organizationId, readScheduleDefaults)
    const looking = preview(completeTiming(body, defaults), body.count, defaults.now)
    return ok(await scheduler.walk(organizationId, looking))
  })

  app.put('/task/schedule/:id', operations.replaceSchedule, async ({ caller, params, body }) => {
    const schedule = await changeSchedule(db, scheduler, caller, params.id, replacing(body))
    return ok(await show(caller, schedule, body.content), 'Task schedule changed')
  })

  app.patch('/task/schedule/:id', operations.updateSchedule, async ({ caller, params, body }) => {
    const schedule = await changeSchedule(db, scheduler, caller, params.id, merging(body))
    return ok(await show(caller, schedule, body.content), 'Task schedule changed')
  })

  app.delete('/task/schedule/:id', operations.deleteSchedule, async ({ caller, params }) => {
    const { organizationId, hubIds } = caller
    found('schedule', await db.tenant(organizationId, tx => findSchedule(tx, params.id, hubIds)))
    await releaseTasks(db, organizationId, 'schedule_id', params.id)
    await db.tenant(organizationId, tx => removeSchedule(tx, caller, params.id))
    return ok({ _id: params.id }, 'Task schedule deleted')
  })
}
