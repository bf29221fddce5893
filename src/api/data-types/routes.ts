import { acrossOrganizations, type Queryable } from '../../../db/client.ts'
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
import { dataAccess } from '../../data/access.ts'
import { audited } from '../../http/audit.ts'
import { unique, unreferenced } from '../../http/conflicts.ts'
import { created, ok } from '../../http/envelope.ts'
import { conflict, found } from '../../http/errors.ts'
import { listed, readPageRequest } from '../../http/lists.ts'
import type { App, Services } from '../../services.ts'
import { checkRecords, evolve, fieldsToldOf } from './evolve.ts'
import { checkDataTypes } from './known.ts'
import * as operations from './schemas.ts'

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
        const typeId = await unique(`data type named ${given.name}`, () =>
          insertDataType(tx, organizationId, given),
        )
        return { before: null, after: await getDataType(tx, organizationId, typeId) }
      }),
    )
    return created(reply, type, 'Data type created')
  })

  app.put('/data-type/:id', operations.replaceDataType, async request => {
    const given = operations.completeDataType(request.body)
    const { organizationId } = request.caller
    // What existing records contradict would tell of values that are not to be seen.
    const checkVisible = (type: DataType) =>
      dataAccess(request.caller, 'view/data').checkKeys(type._id, fieldsToldOf(type, given))
    const now = await getDataType(db.system, organizationId, request.params.id)
    checkVisible(now)
    await checkNamedTypes(db.system, organizationId, given)
    const checked = await checkRecords(db.system, organizationId, now, given)
    const type = await audited(db, request, tx =>
      acrossOrganizations(tx, async () => {
        const before = await getDataType(tx, organizationId, now._id, 'FOR UPDATE')
        checkVisible(before)
        await checkNamedTypes(tx, organizationId, given)
        await evolve(tx, organizationId, before, given, checked)
        await unique(`data type named ${given.name}`, () =>
          updateDataType(tx, organizationId, before._id, given),
        )
        return { before, after: await getDataType(tx, organizationId, before._id) }
      }),
    )
    return ok(type, 'Data type changed')
  })

  app.delete('/data-type/:id', operations.deleteDataType, async request => {
    const { id } = request.params
    await audited(db, request, (tx, { organizationId }) =>
      acrossOrganizations(tx, async () => {
        const before = await getDataType(tx, organizationId, id, 'FOR UPDATE')
        const user = await findUserOfDataType(tx, organizationId, id)
        if (user) throw conflict(`${user} refers to this data type. Change it first.`)
        const used = 'There are records of this data type. Delete them first.'
        await unreferenced(used, () => deleteDataType(tx, organizationId, id))
        return { before, after: null }
      }),
    )
    return ok({ _id: id }, 'Data type deleted')
  })
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
