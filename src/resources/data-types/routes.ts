import type { FastifyRequest } from 'fastify'
import { acrossOrganizations, type Database, type Queryable } from '../../../db/client.ts'
import {
  DATA_TYPE_SORTS,
  type DataType,
  deleteDataType,
  findDataType,
  findUserOfDataType,
  insertDataType,
  listDataTypes,
  type NewDataType,
  updateDataType,
} from '../../../db/queries/data-types.ts'
import { retry } from '../../../db/retry.ts'
import { audited } from '../../http/audit.ts'
import { unique, unreferenced } from '../../http/conflicts.ts'
import { created, ok } from '../../http/envelope.ts'
import { conflict, found } from '../../http/errors.ts'
import { listed, readPageRequest } from '../../http/lists.ts'
import type { App, Services } from '../../services.ts'
import { dataAccess } from '../data/access.ts'
import { abandonChange, applyChange, prepareChange, settleChange, TypeChanged } from './evolve.ts'
import { checkDataTypes } from './known.ts'
import { fieldsRevealedBy } from './rules.ts'
import * as operations from './schemas.ts'

/** A change is tried again if somebody else changes the type at the same time. */
const ATTEMPTS = 3
const AGAIN_MS = 20

export function dataTypeRoutes(app: App, { db }: Services): void {
  app.get('/data-types', operations.listDataTypes, async ({ caller, query }) => {
    const { organizationId } = caller
    const page = readPageRequest(query, DATA_TYPE_SORTS)
    return listed(await db.tenant(organizationId, tx => listDataTypes(tx, organizationId, page)), query)
  })

  app.get('/data-type/:id', operations.getDataType, async ({ caller, params }) =>
    ok(await db.tenant(caller.organizationId, tx => getDataType(tx, caller.organizationId, params.id))),
  )

  app.post('/data-type', operations.createDataType, async (request, reply) => {
    const given = operations.completeDataType(request.body)
    const type = await audited(db, request, (tx, { organizationId }) =>
      acrossOrganizations(tx, async () => {
        await checkNamedTypes(tx, organizationId, given)
        const typeId = await unique('data type named', given.name, () =>
          insertDataType(tx, organizationId, given),
        )
        return { before: null, after: await getDataType(tx, organizationId, typeId) }
      }),
    )
    return created(reply, type, 'Data type created')
  })

  app.put('/data-type/:id', operations.replaceDataType, async request => {
    const given = operations.completeDataType(request.body)
    let attempts = 1
    const type = await retry(() => replaceDataType(db, request, request.params.id, given), {
      firstMs: AGAIN_MS,
      again: error => error instanceof TypeChanged && attempts++ < ATTEMPTS,
    })
    return ok(type, 'Data type changed')
  })

  app.delete('/data-type/:id', operations.deleteDataType, async request => {
    const { id } = request.params
    await audited(db, request, (tx, { organizationId }) =>
      acrossOrganizations(tx, async () => {
        const before = await getDataType(tx, organizationId, id, 'FOR UPDATE')
        const user = await findUserOfDataType(tx, organizationId, id)
        if (user) throw conflict(`${user} refers to this data type. Change it first.`, 'in-use')
        const used = 'There are records of this data type. Delete them first.'
        await unreferenced(used, () => deleteDataType(tx, organizationId, id))
        return { before, after: null }
      }),
    )
    return ok({ _id: id }, 'Data type deleted')
  })
}

async function replaceDataType(
  db: Database,
  request: FastifyRequest,
  dataTypeId: string,
  given: NewDataType,
): Promise<DataType> {
  const { organizationId } = request.caller
  // The records that contradict a change would reveal values that the caller may not see.
  const checkVisible = (type: DataType) =>
    dataAccess(request.caller, 'view/data').checkKeys(type._id, fieldsRevealedBy(type, given))
  const now = await getDataType(db.system, organizationId, dataTypeId)
  checkVisible(now)
  await checkNamedTypes(db.system, organizationId, given)
  const prepared = await prepareChange(db, organizationId, now, given)
  const type = await audited(db, request, tx =>
    acrossOrganizations(tx, async () => {
      const before = await getDataType(tx, organizationId, now._id, 'FOR UPDATE')
      checkVisible(before)
      await checkNamedTypes(tx, organizationId, given)
      await applyChange(tx, prepared, before)
      await unique('data type named', given.name, () => updateDataType(tx, organizationId, before._id, given))
      return { before, after: await getDataType(tx, organizationId, before._id) }
    }),
  ).catch(async error => {
    await abandonChange(db, prepared).catch(() => {})
    throw error
  })
  await settleChange(db, prepared)
  return type
}

const getDataType = async (
  tx: Queryable,
  organizationId: string,
  dataTypeId: string,
  lock: '' | 'FOR UPDATE' = '',
) => found('data type', await findDataType(tx, organizationId, { dataTypeId }, lock))

const checkNamedTypes = (tx: Queryable, organizationId: string, { fields }: NewDataType) =>
  checkDataTypes(
    tx,
    organizationId,
    Object.fromEntries(fields.map(({ dataTypeId }, at) => [`fields.${at}.dataTypeId`, dataTypeId])),
  )
