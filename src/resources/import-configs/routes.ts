import { isDeepStrictEqual } from 'node:util'
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
import type { Mapping } from '../../../db/queries/imports.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import { audited } from '../../http/audit.ts'
import { unique } from '../../http/conflicts.ts'
import { created, ok } from '../../http/envelope.ts'
import { type FieldError, FieldErrors, found } from '../../http/errors.ts'
import { listed, readPageRequest } from '../../http/lists.ts'
import type { App, Services } from '../../services.ts'
import { type DataAccess, dataAccess } from '../data/access.ts'
import { checkDataTypes } from '../data-types/known.ts'
import * as operations from './schemas.ts'
import { listTypeChanges } from './type-changes.ts'
import { listUnfit } from './unfit.ts'

export function importConfigRoutes(app: App, { db }: Services): void {
  app.get('/import-configs', operations.listImportConfigs, async ({ caller, query }) => {
    const page = readPageRequest(query, IMPORT_CONFIG_SORTS)
    return db.tenant(caller.organizationId, async tx => {
      const configs = await listImportConfigs(tx, query, page)
      const ids = [...new Set(configs.rows.map(({ dataTypeId }) => dataTypeId))]
      const types = await listDataTypesById(tx, caller.organizationId, ids)
      const byId = new Map(types.map(type => [type._id, type]))
      const access = dataAccess(caller, 'view/data')
      const rows = configs.rows.map(config => present(config, byId.get(config.dataTypeId), access))
      return listed({ ...configs, rows }, query)
    })
  })

  app.get('/import-config/:id', operations.getImportConfig, async ({ caller, params }) =>
    ok(await db.tenant(caller.organizationId, tx => getConfig(tx, caller, params.id))),
  )

  app.post('/import-config', operations.createImportConfig, async (request, reply) => {
    const config = await audited(db, request, async (tx, caller) => {
      const { organizationId } = caller
      const { given } = await checkMapping(tx, organizationId, request.body)
      const configId = await unique('import config named', given.name, () =>
        insertImportConfig(tx, organizationId, given),
      )
      return { before: null, after: await getConfig(tx, caller, configId, given.mapping) }
    })
    return created(reply, config, 'Import config created')
  })

  app.put('/import-config/:id', operations.replaceImportConfig, async request => {
    const config = await audited(db, request, async (tx, caller) => {
      const { organizationId } = caller
      const access = dataAccess(caller, 'view/data')
      const before = found('import config', await findImportConfig(tx, request.params.id))
      const typeBefore = await findDataType(tx, organizationId, before)
      const { mapping } = request.body
      const body = { ...request.body, mapping: { ...hiddenOf(before, request.body, access), ...mapping } }
      const { given, type } = await checkMapping(tx, organizationId, body, before)
      const changed = await unique('import config named', given.name, () =>
        updateImportConfig(tx, before._id, given),
      )
      return {
        before: present(before, typeBefore ?? undefined, access),
        after: present(found('import config', changed), type, access, mapping),
      }
    })
    return ok(config, 'Import config changed')
  })

  app.delete('/import-config/:id', operations.deleteImportConfig, async request => {
    const { id } = request.params
    await audited(db, request, async (tx, caller) => {
      const before = await getConfig(tx, caller, id)
      await deleteImportConfig(tx, id)
      return { before, after: null }
    })
    return ok({ _id: id }, 'Import config deleted')
  })
}

async function getConfig(tx: Queryable, caller: Caller, id: string, set: Mapping = {}) {
  const config = found('import config', await findImportConfig(tx, id))
  const type = await findDataType(tx, caller.organizationId, config)
  return present(config, type ?? undefined, dataAccess(caller, 'view/data'), set)
}

/** Shows a config. For restricted fields it contains only what the request itself has set. */
function present(
  { writtenFor, ...config }: ImportConfig,
  type: DataType | undefined,
  access: DataAccess,
  set: Mapping = {},
) {
  const { dataTypeId, mapping } = config
  const shows = (key: string) => Object.hasOwn(set, key) || !access.hides(dataTypeId, key)
  const changes = type ? listTypeChanges({ ...config, writtenFor }, type) : []
  return {
    ...config,
    mapping: Object.fromEntries(Object.entries(mapping).filter(([key]) => shows(key))),
    typeChanges: changes.filter(({ field }) => shows(field)),
  }
}

/** The part of a mapping that a role keeps, because it replaces the mapping without having seen that part. */
function hiddenOf(
  { dataTypeId, mapping }: ImportConfig,
  given: Pick<NewImportConfig, 'dataTypeId'>,
  access: DataAccess,
): Mapping {
  if (dataTypeId !== given.dataTypeId) return {}
  return Object.fromEntries(Object.entries(mapping).filter(([key]) => access.hides(dataTypeId, key)))
}

/**
 * The config with the fields that it was written for, and its type. Throws 400 for fields that the type lacks, unless
 * the config mapped them to the same columns before: `typeChanges` keeps reporting these.
 */
async function checkMapping(
  tx: Queryable,
  organizationId: string,
  given: Omit<NewImportConfig, 'writtenFor'>,
  before?: ImportConfig,
): Promise<{ given: NewImportConfig; type: DataType }> {
  await checkDataTypes(tx, organizationId, { dataTypeId: given.dataTypeId })
  const type = found('data type', await findDataType(tx, organizationId, given))
  const { name, dataTypeId, mapping } = given
  const had = before?.dataTypeId === dataTypeId ? before : { mapping: {} as Mapping, writtenFor: [] }
  const unfit = listUnfit(type, mapping)
  const errors = unfit
    .filter(({ key }) => !isDeepStrictEqual(mapping[key], had.mapping[key]))
    .map(
      ({ key, isGone, message }): FieldError => ({
        path: `mapping.${key}`,
        code: isGone ? 'unknown-field' : 'invalid',
        message,
      }),
    )
  if (errors[0]) throw new FieldErrors(errors, errors[0].message)
  const isUnfit = ({ key }: { key: string }) => unfit.some(one => one.key === key)
  const fitting = type.fields.filter(field => !isUnfit(field))
  const writtenFor = [
    ...fitting.map(({ key, type, required }) => ({ key, type, required })),
    ...had.writtenFor.filter(isUnfit),
  ]
  return { given: { name, dataTypeId, mapping, writtenFor }, type }
}
