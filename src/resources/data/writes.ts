import type { Queryable } from '../../../db/client.ts'
import {
  type DataRecord,
  deleteRecord,
  findRecord,
  insertRecords,
  listReferring,
  newRecords,
  updateRecord,
} from '../../../db/queries/data.ts'
import { type DataType, findDataType } from '../../../db/queries/data-types.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import { insertEvents } from '../../../db/queries/webhook-events.ts'
import type { Values } from '../../../db/schema/data-records.ts'
import { record } from '../../http/audit.ts'
import { forbidden, found, invalid, notFound, RequestError } from '../../http/errors.ts'
import type { Permission } from '../../http/permissions.ts'
import { dataAccess } from './access.ts'
import {
  checkValues,
  defaultsOf,
  listBrokenReferences,
  rejectBroken,
  rejectErrors,
  rejectTaken,
} from './check.ts'
import { namedType } from './find.ts'
import { listLinkingFields } from './linking-fields.ts'
import { presentRecord, shownAfterWrite } from './present.ts'

// Each of these functions runs in one transaction across organizations, so every query names the caller's.

/** The maximum of referring records in an answer. */
const NAMED = 100

interface Given {
  dataTypeId?: string
  dataTypeName?: string
  data: Values
}

export async function createRecord(tx: Queryable, caller: Caller, given: Given) {
  const { organizationId } = caller
  const which = namedType(given)
  const type = which && (await findDataType(tx, organizationId, which, 'FOR SHARE'))
  if (!type) {
    const path = given.dataTypeId === undefined ? 'dataTypeName' : 'dataTypeId'
    throw invalid(path, 'There is no such data type.', 'not-found')
  }
  if (!dataAccess(caller, 'create/data').grants(type._id)) {
    throw forbidden(`Your role may not create records of ${type.name}.`)
  }
  const { data, errors } = checkValues(type, given.data, defaultsOf(type))
  rejectErrors(errors)
  const records = newRecords([data])
  const _id = records[0]?._id as string
  rejectBroken(await listBrokenReferences(tx, organizationId, type, records))
  const access = dataAccess(caller, 'view/data')
  rejectTaken(await insertRecords(tx, organizationId, type, records), type, access)
  await insertEvents(tx, organizationId, {
    event: 'data-source-created',
    dataTypeId: type._id,
    payloads: [JSON.stringify(data)],
  })
  await recordKeys(tx, caller, 'create', type, _id, {}, data)
  const record = found('data', await findRecord(tx, organizationId, _id))
  return presentRecord(record, type, shownAfterWrite(access, type, given.data))
}

/** `keeps`: omitted fields keep their values. */
export async function changeRecord(
  tx: Queryable,
  caller: Caller,
  recordId: string,
  given: Given,
  keeps: boolean,
) {
  const { organizationId } = caller
  const { type, record } = await lockRecord(tx, caller, 'update/data', recordId)
  if ((given.dataTypeId ?? type._id).toLowerCase() !== type._id) {
    throw invalid('dataTypeId', 'A record stays of its data type.')
  }
  if ((given.dataTypeName ?? type.name) !== type.name) {
    throw invalid('dataTypeName', 'A record stays of its data type.')
  }
  const access = dataAccess(caller, 'view/data')
  const kept = Object.entries(record.data).filter(([key]) => keeps || access.hides(type._id, key))
  const { data, errors } = checkValues(type, given.data, Object.fromEntries(kept))
  rejectErrors(errors)
  const changed = [{ _id: record._id, data }]
  rejectBroken(await listBrokenReferences(tx, organizationId, type, changed))
  rejectTaken(await updateRecord(tx, organizationId, type, record, data), type, access)
  await recordKeys(tx, caller, 'update', type, record._id, record.data, data)
  const after = found('data', await findRecord(tx, organizationId, record._id))
  return presentRecord(after, type, shownAfterWrite(access, type, given.data))
}

/** Deletes a record. Throws 409 while other records refer to it. */
export async function removeRecord(tx: Queryable, caller: Caller, recordId: string): Promise<void> {
  const { organizationId } = caller
  const { type, record } = await lockRecord(tx, caller, 'delete/data', recordId)
  const linking = await listLinkingFields(tx, organizationId, type._id)
  const ids = await listReferring(tx, organizationId, record._id, linking, NAMED)
  if (ids.length > 0) {
    throw new RequestError('in-use', 'Other records refer to this one. Change them first.', {
      conflicts: { count: ids.length, ids },
    })
  }
  await deleteRecord(tx, organizationId, type, record)
  await recordKeys(tx, caller, 'delete', type, record._id, record.data, {})
}

/**
 * A record on which the caller has this permission, locked with its type until the transaction ends. The type is locked
 * first.
 */
async function lockRecord(
  tx: Queryable,
  caller: Caller,
  permission: Extract<Permission, `${string}/data`>,
  recordId: string,
): Promise<{ type: DataType; record: DataRecord }> {
  const { organizationId } = caller
  const seen = found('data', await findRecord(tx, organizationId, recordId))
  const type = await findDataType(tx, organizationId, { dataTypeId: seen.dataTypeId }, 'FOR SHARE')
  if (!type || !dataAccess(caller, permission).grants(type._id)) {
    if (!type || !dataAccess(caller, 'view/data').grants(type._id)) throw notFound('data')
    throw forbidden(`Your role lacks ${permission} for ${type.name}.`)
  }
  return { type, record: found('data', await findRecord(tx, organizationId, recordId, 'FOR UPDATE')) }
}

/** The audit log names the fields without their values, and shows a reader only the names that it may see. */
async function recordKeys(
  tx: Queryable,
  caller: Caller,
  action: string,
  type: DataType,
  recordId: string,
  before: Values,
  after: Values,
): Promise<void> {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    key => JSON.stringify(before[key]) !== JSON.stringify(after[key]),
  )
  const changes = Object.fromEntries(keys.map(key => [key, {}]))
  const dataTypeIds = [type._id]
  await record(tx, caller, { action, resource: 'data', resourceId: recordId, changes, dataTypeIds })
}
