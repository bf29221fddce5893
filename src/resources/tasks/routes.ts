import type { Caller } from '../../../db/queries/sessions.ts'
import { findTask, listTasks, TASK_SORTS, type Task } from '../../../db/queries/tasks.ts'
import { ASSIGNEE_SORTS, listAssignees } from '../../../db/queries/users.ts'
import { created, ok } from '../../http/envelope.ts'
import { found } from '../../http/errors.ts'
import { listed, readPageRequest } from '../../http/lists.ts'
import type { App, Services } from '../../services.ts'
import { visibilityOf as assigneesOf } from '../users/checks.ts'
import { readFilter } from './filter.ts'
import { presentTask, readTypes, visibilityOf } from './present.ts'
import * as operations from './schemas.ts'
import { changeStatus, changeTask, createTask, removeTask } from './writes.ts'

export function taskRoutes(app: App, { db }: Services): void {
  const show = async (caller: Caller, task: Task, set?: object) =>
    presentTask(caller, task, await readTypes(db.system, caller.organizationId, [task]), set)

  app.get('/tasks', operations.listTasks, async ({ caller, query }) => {
    const { organizationId } = caller
    const page = readPageRequest(query, TASK_SORTS)
    const visibility = visibilityOf(caller, 'view/task')
    const tasks = await listTasks(db, organizationId, visibility, readFilter(query), page)
    const types = await readTypes(db.system, organizationId, tasks.rows)
    return listed({ ...tasks, rows: tasks.rows.map(task => presentTask(caller, task, types)) }, query)
  })

  app.get('/tasks/assignees', operations.listAssignees, async ({ caller, query }) => {
    const page = readPageRequest(query, ASSIGNEE_SORTS)
    const visibility = assigneesOf(caller, 'view/task')
    return listed(await db.tenant(caller.organizationId, tx => listAssignees(tx, visibility, page)), query)
  })

  app.get('/task/:id', operations.getTask, async ({ caller, params }) => {
    const visibility = visibilityOf(caller, 'view/task')
    const task = await db.tenant(caller.organizationId, tx => findTask(tx, visibility, params.id))
    return ok(await show(caller, found('task', task)))
  })

  app.post('/task', operations.createTask, async ({ caller, body }, reply) => {
    const task = await db.tenant(caller.organizationId, tx => createTask(tx, caller, body))
    return created(reply, await show(caller, task, body.content), 'Task created')
  })

  app.patch('/task/:id', operations.updateTask, async ({ caller, params, body }) => {
    const task = await db.tenant(caller.organizationId, tx => changeTask(tx, caller, params.id, body))
    return ok(await show(caller, task, body.content), 'Task changed')
  })

  app.post('/task/:id/status', operations.moveTask, async ({ caller, params, body }) => {
    const { task, set } = await db.tenant(caller.organizationId, tx =>
      changeStatus(tx, caller, params.id, body),
    )
    return ok(await show(caller, task, set), 'Status changed')
  })

  app.delete('/task/:id', operations.deleteTask, async ({ caller, params }) => {
    await db.tenant(caller.organizationId, tx => removeTask(tx, caller, params.id))
    return ok({ _id: params.id }, 'Task deleted')
  })
}
