import type { Queryable } from '../../../db/client.ts'
import { type DataType, findDataType, listDataTypesById } from '../../../db/queries/data-types.ts'
import {
  deleteImportConfig,
  findImportConfig,
  IMPORT_CONFIG_SORTS,
  type ImportConfig,
  insertImportConfig,
  listImportConfigs,
  type NewImportConfig,
  updateImportConfig,
} from '../../../db/queries/import-configs.ts'
import { audited } from '../../http/audit.ts'
import { unique } from '../../http/conflicts.ts'
import { created, ok } from '../../http/envelope.ts'
import { FieldErrors, found } from '../../http/errors.ts'
import { listed, readPageRequest } from '../../http/lists.ts'
import type { App, Services } from '../../services.ts'
import { checkDataTypes } from '../data-types/known.ts'
import * as operations from './schemas.ts'
import { listTypeChanges } from './type-changes.ts'

export function importConfigRoutes(app: App, { db }: Services): void {
  app.get('/import-configs', operations.listImportConfigs, async ({ caller, query }) => {
    const page = readPageRequest(query, IMPORT_CONFIG_SORTS)
    return db.tenant(caller.organizationId, async tx => {
      const configs = await listImportConfigs(tx, query, page)
      const ids = [...new Set(configs.rows.map(({ dataTypeId }) => dataTypeId))]
      const types = await listDataTypesById(tx, caller.organizationId, ids)
      const byId = new Map(types.map(type => [type._id, type]))
      const rows = configs.rows.map(config => present(config, byId.get(config.dataTypeId)))
      return listed({ ...configs, rows }, query)
    })
  })

  app.get('/import-config/:id', operations.getImportConfig, async ({ caller, params }) =>
    ok(await db.tenant(caller.organizationId, tx => getConfig(tx, caller.organizationId, params.id))),
  )

  app.post('/import-config', operations.createImportConfig, async (request, reply) => {
    const config = await audited(db, request, async (tx, { organizationId }) => {
      const given = await checkMapping(tx, organizationId, request.body)
      const configId = await unique(`import config named ${given.name}`, () =>
        insertImportConfig(tx, organizationId, given),
      )
      return { before: null, after: await getConfig(tx, organizationId, configId) }
    })
    return created(reply, config, 'Import config created')
  })

  app.put('/import-config/:id', operations.replaceImportConfig, async request => {
    const config = await audited(db, request, async (tx, { organizationId }) => {
      const before = await getConfig(tx, organizationId, request.params.id)
      const given = await checkMapping(tx, organizationId, request.body)
      await unique(`import config named ${given.name}`, () => updateImportConfig(tx, before._id, given))
      return { before, after: await getConfig(tx, organizationId, before._id) }
    })
    return ok(config, 'Import config changed')
  })

  app.delete('/import-config/:id', operations.deleteImportConfig, async request => {
    const { id } = request.params
    await audited(db, request, async (tx, { organizationId }) => {
      const before = await getConfig(tx, organizationId, id)
      await deleteImportConfig(tx, id)
      return { before, after: null }
    })
    return ok({ _id: id }, 'Import config deleted')
  })
}

async function getConfig(tx: Queryable, organizationId: string, id: string) {
  const config = found('import config', await findImportConfig(tx, id))
  const type = await findDataType(tx, organizationId, config)
  return present(config, type ?? undefined)
}

function present({ writtenFor, ...config }: ImportConfig, type: DataType | undefined) {
  return { ...config, typeChanges: type ? listTypeChanges({ ...config, writtenFor }, type) : [] }
}

/** The config with what it was written for. 400 where the type has no such fields. */
async function checkMapping(
  tx: Queryable,
  organizationId: string,
  given: Omit<NewImportConfig, 'writtenFor'>,
): Promise<NewImportConfig> {
  await checkDataTypes(tx, organizationId, { dataTypeId: given.dataTypeId })
  const type = found('data type', await findDataType(tx, organizationId, given))
  const known = new Set(type.fields.map(({ key }) => key))
  const errors = Object.keys(given.mapping)
    .filter(key => !known.has(key))
    .map(key => ({ path: `mapping.${key}`, message: `${type.name} has no field ${key}.` }))
  if (errors[0]) throw new FieldErrors(errors, errors[0].message)
  const { name, dataTypeId, mapping } = given
  const writtenFor = type.fields.map(({ key, type, required }) => ({ key, type, required }))
  return { name, dataTypeId, mapping, writtenFor }
}
