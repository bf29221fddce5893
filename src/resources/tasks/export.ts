import { createHash } from 'node:crypto'
import type { Database } from '../../../db/client.ts'
import { ALL_HUBS } from '../../../db/hub-rule.ts'
import { listFlows } from '../../../db/queries/flows.ts'
import { findOrganization } from '../../../db/queries/organizations.ts'
import { countTasks, listTasks, type Task, type TaskVisibility } from '../../../db/queries/tasks.ts'
import type { Field } from '../../../db/schema/flows.ts'
import { forbidden, found, invalid, lacksPermission } from '../../http/errors.ts'
import { splitIds } from '../../http/lists.ts'
import { type Permission, scopeOf } from '../../http/permissions.ts'
import { InvalidInput, REPORTING } from '../../http/validation.ts'
import type { Column } from '../../sheets/column.ts'
import { headingsOf } from '../../sheets/headings.ts'
import type { Exportable, Exporter } from '../exports/source.ts'
import { readFilter } from './filter.ts'
import { presentTask, readTypes, visibilityOf } from './present.ts'
import { TASK_KEYS, taskExportFilter } from './schemas.ts'

type Presented = ReturnType<typeof presentTask>

/** The columns of a spreadsheet beside a task's content. */
const COLUMNS: readonly { key: keyof Presented; label: string; type: Field['type'] }[] = [
  { key: 'code', label: 'Code', type: 'text' },
  { key: 'name', label: 'Name', type: 'text' },
  { key: 'status', label: 'Status', type: 'text' },
  { key: 'startTime', label: 'Start', type: 'datetime' },
  { key: 'endTime', label: 'End', type: 'datetime' },
  { key: 'location', label: 'Location', type: 'location' },
  { key: 'assigneeId', label: 'Assignee', type: 'text' },
  { key: 'teamId', label: 'Team', type: 'text' },
  { key: 'vehicleId', label: 'Vehicle', type: 'text' },
  { key: 'hubId', label: 'Hub', type: 'text' },
  { key: 'flowId', label: 'Flow', type: 'text' },
  { key: 'scheduleId', label: 'Schedule', type: 'text' },
  { key: 'dataIds', label: 'Data sources', type: 'text' },
]
/** Columns that appear only on request. */
const MORE_COLUMNS: typeof COLUMNS = [
  { key: '_id', label: '_id', type: 'text' },
  { key: 'isSample', label: 'Sample', type: 'boolean' },
  { key: 'createdAt', label: 'Created', type: 'datetime' },
  { key: 'updatedAt', label: 'Updated', type: 'datetime' },
]
const FIELDS: ReadonlySet<string> = new Set(TASK_KEYS)
/** The content columns of all flows together; the JSON has all of them. */
const MAX_CONTENT_COLUMNS = 500
const MAX_FLOWS = 500
/** Rows of a page, which has at most about 1 MiB. */
const PAGE_ROWS = 500

/** Exports the tasks that the role may both see and export, as `GET /tasks` shows them. */
export const exportableTasks: Exportable = {
  async open(db, who, { filter, fields: named }) {
    const { organizationId } = who
    const unknown = named?.find(key => !FIELDS.has(key))
    if (unknown !== undefined)
      throw invalid('fields', `A task has no field ${unknown}. Its fields are ${TASK_KEYS.join(', ')}.`)
    const parsed = taskExportFilter.safeParse(filter, REPORTING)
    if (!parsed.success)
      throw new InvalidInput(
        parsed.error.issues.map(issue => ({ ...issue, path: ['filter', ...issue.path] })),
      )
    const { search = '', _id } = parsed.data
    const visibility = narrowest(who)
    const wanted = readFilter(parsed.data)
    const { timeZone } = found('organization', await findOrganization(db.system, organizationId))
    const shows = (key: string) => !named || named.includes(key)
    const content = shows('content') ? await listContentFields(db, organizationId) : []
    const columns = [
      ...COLUMNS.filter(({ key }) => shows(key)),
      ...MORE_COLUMNS.filter(({ key }) => named?.includes(key)),
    ]
    const list = async (after: string | null, limit: number) => {
      const page = { limit, sort: 'createdAt', descending: false, search: search || undefined }
      const from = after === null ? undefined : { key: after, id: after }
      return listTasks(db, organizationId, visibility, wanted, { ...page, ids: splitIds(_id), after: from })
    }
    const shown = TASK_KEYS.filter(key => key === '_id' || shows(key))
    // Rows of a page also contain their sort key.
    const pick = (task: Presented) => Object.fromEntries(shown.map(key => [key, task[key]]))
    const cells = (task: Presented) => [
      ...columns.map(({ key }) => cellValueOf(task[key])),
      ...content.map(({ key }) => task.content[key] ?? null),
    ]

    return {
      name: 'Tasks',
      columns: columnsOf(columns, content),
      keys: () => [fingerprintOf(who)],
      timeZone,
      isFiltered:
        visibility.scope !== 'all' || visibility.hubIds !== ALL_HUBS || Object.keys(filter).length > 0,
      async findFew(limit) {
        const ids: string[] = []
        for (let after: string | null = null; ; ) {
          const page: Awaited<ReturnType<typeof list>> = await list(after, PAGE_ROWS)
          ids.push(...page.rows.map(({ _id }) => _id))
          if (ids.length > limit) return null
          if (!page.next) return ids
          after = page.next.id
        }
      },
      count: signal => countTasks(db.system, organizationId, signal),
      async read(as, { after, until, ids, rows }) {
        const page = await list(after, Math.min(rows, PAGE_ROWS))
        const only = ids && new Set(ids)
        const tasks = page.rows.filter(({ _id }) => _id <= until && (!only || only.has(_id)))
        const types = await readTypes(db.system, organizationId, tasks)
        const texts = tasks.map(task => {
          const presented = presentTask(who, task, types)
          return JSON.stringify(as === 'records' ? pick(presented) : cells(presented))
        })
        const last = page.rows.at(-1)?._id ?? null
        return {
          text: texts.join(',\n'),
          count: tasks.length,
          looked: page.rows.length,
          last,
          ended: !page.next || last === null || last > until,
        }
      },
    }
  },

  async checkFile(_db, who, _dataTypeId, keys) {
    narrowest(who)
    // Owner and Admin see every task, and so everything that others may see of it.
    if (who.hubIds !== ALL_HUBS && keys[0] !== fingerprintOf(who)) {
      throw forbidden('The tasks that you may see have changed since: export them again.')
    }
  },
}

/** The tasks that the role may both see and export. */
function narrowest(who: Exporter): TaskVisibility {
  const scopes = (['view/task', 'export/task'] as const satisfies Permission[]).map(name => {
    const scope = scopeOf(who.permissionDetails, name)
    if (!scope) throw lacksPermission(name)
    return scope
  })
  const scope = (['own', 'team', 'all'] as const).find(one => scopes.includes(one)) ?? 'own'
  return { ...visibilityOf(who, 'view/task'), scope }
}

/** A digest of the permissions that decide which parts of tasks a file contains. */
const fingerprintOf = ({ userId, hubIds, teamIds, permissionDetails }: Exporter): string => {
  const decisive = permissionDetails.filter(({ permissionName }) =>
    /^(view|export)\/(data|task)$/.test(permissionName),
  )
  const sorted = decisive.toSorted((a, b) => (a.permissionName < b.permissionName ? -1 : 1))
  return createHash('sha256')
    .update(JSON.stringify([userId, hubIds, teamIds, sorted]))
    .digest('base64url')
}

/** The fields of all flows: a column for each key. */
async function listContentFields(db: Database, organizationId: string): Promise<Field[]> {
  const page = { limit: MAX_FLOWS, sort: 'name', descending: false, search: undefined, after: undefined }
  const flows = await db.tenant(organizationId, tx => listFlows(tx, page))
  const fields = flows.rows.flatMap(({ steps }) => steps.flatMap(step => step.fields))
  const byKey = new Map(fields.toReversed().map(field => [field.key, field]))
  return [...byKey.values()].reverse().slice(0, MAX_CONTENT_COLUMNS)
}

function columnsOf(columns: typeof COLUMNS, content: readonly Field[]): Column[] {
  // A field of a flow may have the key of a column. The prefix, which no key has, distinguishes them.
  const all = [
    ...columns.map(column => ({ ...column, key: `${column.key}`, options: [] })),
    ...content.map(field => ({ ...field, key: `content.${field.key}` })),
  ]
  const headings = headingsOf(all)
  return all.map(({ key, type, options }) => ({ heading: headings.get(key) as string, type, options }))
}

/** Converts a value to that of a cell. */
function cellValueOf(value: Presented[keyof Task & keyof Presented]): unknown {
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return value.join(', ')
  if (value && typeof value === 'object' && 'lat' in value) {
    const { lat, lng, address } = value as NonNullable<Task['location']>
    return address === null ? { lat, lng } : { lat, lng, address }
  }
  return value
}
