import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { acrossOrganizations, type Database, isUuid, newId, type Queryable } from '../../../db/client.ts'
import { lockOwnersUntilCommit } from '../../../db/locks.ts'
import { type DataType, findDataType } from '../../../db/queries/data-types.ts'
import { findImportConfig, type ImportConfig } from '../../../db/queries/import-configs.ts'
import {
  findImport,
  type ImportFormat,
  insertImport,
  type Mapping,
  measureImports,
} from '../../../db/queries/imports.ts'
import { insertJob } from '../../../db/queries/jobs.ts'
import { type Caller, findCallers } from '../../../db/queries/sessions.ts'
import { rootOf } from '../../../fair/roots.ts'
import { createSemaphore } from '../../../fair/semaphore.ts'
import { record } from '../../http/audit.ts'
import type { FailureCode } from '../../http/error-codes.ts'
import {
  type FieldError,
  FieldErrors,
  forbidden,
  found,
  invalid,
  lacksPermission,
  RequestError,
  sessionEnded,
} from '../../http/errors.ts'
import { scopeOf } from '../../http/permissions.ts'
import { findProto } from '../../http/plugins/strict-inputs.ts'
import { checkFields, receiveUpload } from '../../http/plugins/uploads.ts'
import { InvalidInput, REPORTING } from '../../http/validation.ts'
import { FileError, unimportable } from '../../sheets/file-error.ts'
import { listed } from '../../sheets/quotes.ts'
import { dataAccess } from '../data/access.ts'
import { namedType } from '../data/find.ts'
import { isAbsent } from '../data/values.ts'
import { mapping as mappingShape } from '../import-configs/schemas.ts'
import { listUnfit } from '../import-configs/unfit.ts'
import type { ImportFiles } from './files.ts'
import { IMPORT_JOB } from './job.ts'
import { INSPECTED_AT_ONCE } from './limits.ts'
import type { GivenMapping } from './mapping.ts'
import { showImport } from './present.ts'
import { inspectFile } from './reader.ts'
import { importUpload } from './schemas.ts'

type Fields = z.infer<typeof importUpload.fields>

const STATUSES: { [reason in FileError['reason']]: FailureCode } = {
  unsupported: 'unsupported-media-type',
  unimportable: 'unimportable',
  'too-large': 'too-large',
}

/** Unfinished imports of an organization, which are worked on one at a time. */
const MAX_UNFINISHED = 20
/**
 * The files of unfinished imports and of those with failed rows, of all organizations of a root (fair/roots.ts): all
 * organizations share a disk, and one account creates organizations at will.
 */
const MAX_KEPT_BYTES = 10 * 1024 ** 3
/** Files stay for days, so there is no point in trying again soon. */
const FULL_RETRY_AFTER_S = 3600
/** Threads inspect files, each on a core. */
const inspections = createSemaphore({ max: INSPECTED_AT_ONCE, maxPerRoot: 1, maxWaiting: 16, waitMs: 30_000 })

/**
 * Receives a file: it goes to the disk as it arrives, then its header is inspected, and then the import is created with
 * its job. A file that is refused is deleted. Resolves to null if an earlier answer was sent again (`reply.replay`).
 */
export async function receiveImport(
  db: Database,
  files: ImportFiles,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const importId = newId()
  try {
    const arrived = await receiveUpload(request, importUpload, file => files.receive(importId, file))
    const caller = (await findCallers(db.system, [request.caller.sessionId])).get(request.caller.sessionId)
    // The upload has taken a while, so the session and the permissions are checked again.
    if (!caller) throw sessionEnded()
    if (!scopeOf(caller.permissionDetails, 'import/data')) throw lacksPermission('import/data')
    if (await reply.replay(arrived.digest)) {
      await files.delete(importId)
      return null
    }
    const { fileName } = arrived
    const fileBytes = await files.sizeOf(importId)
    const fields = checkFields(importUpload, arrived.fields)
    const { type, given } = await db.tenant(caller.organizationId, async tx => {
      await checkRoom(tx, caller, fileBytes)
      return readTarget(tx, caller, fields)
    })
    const isConfig = fields.importConfigId !== undefined
    const named = given && { mapping: given, isConfig }
    const { format, mapping } = await inspect(files.pathOf(importId), type, named, caller)
    checkColumns(type, fields, mapping, format, caller)
    return await db.tenant(caller.organizationId, async tx => {
      const { organizationId, accountId, userId } = caller
      const { mode } = fields
      // Other files may have arrived during the inspection, so the remaining room is assigned under a lock.
      await lockOwnersUntilCommit(tx, 'importRoom', [
        `root ${rootOf(organizationId)}`,
        organizationId,
        accountId,
      ])
      await checkRoom(tx, caller, fileBytes)
      await insertImport(tx, organizationId, {
        _id: importId,
        userId,
        fileName,
        format,
        dataTypeId: type._id,
        dataTypeName: type.name,
        mode,
        dryRun: fields.dryRun === 'true',
        mapping,
        primaryKey: type.primaryKey,
        fileBytes,
      })
      await insertJob(tx, { kind: IMPORT_JOB, organizationId, payload: { importId }, uniqueKey: importId })
      if (fields.dryRun === 'false')
        await record(tx, caller, { action: 'import', resource: 'data', resourceId: importId })
      return found('import', showImport(found('import', await findImport(tx, importId)), caller))
    })
  } catch (error) {
    await files.delete(importId)
    throw error instanceof FileError ? new RequestError(STATUSES[error.reason], error.message) : error
  }
}

/**
 * Throws 429 if the organization or its root has no room, or if the sender already uses as much, over all organizations,
 * as is left there. So one user has at most half of the room, two have a third each, and there is always some for the next.
 */
async function checkRoom(tx: Queryable, caller: Caller, bytes: number): Promise<void> {
  const { ofAll, own } = await acrossOrganizations(tx, () => measureImports(tx, caller))
  const left = MAX_UNFINISHED - ofAll.unfinished
  if (left <= 0)
    throw new RequestError('rate-limited', 'Too many imports wait already: send this when one is done.')
  if (own.unfinished >= left) {
    const message =
      'So many of your imports wait already that the rest of the room is for others: send this when one is done.'
    throw new RequestError('rate-limited', message)
  }
  const leftBytes = MAX_KEPT_BYTES - ofAll.fileBytes - bytes
  if (leftBytes < 0 || own.fileBytes > leftBytes) {
    const files = leftBytes < 0 ? 'The files' : 'Your files'
    const much = leftBytes < 0 ? '10 GiB' : 'so much of 10 GiB that the rest is for others'
    const message = `${files} of imports that wait or have rows that failed take ${much}, and no more are kept: each goes 30 days after it was sent.`
    throw new RequestError('rate-limited', message, {}, FULL_RETRY_AFTER_S)
  }
}

const ONE_TYPE = 'Name the data type by either dataTypeId or dataTypeName, or by an import config alone.'
const NO_CONFIG = 'There is no such import config.'

/** The data type of the rows, and the given mapping, if any. */
async function readTarget(
  tx: Queryable,
  caller: Caller,
  fields: Fields,
): Promise<{ type: DataType; given: Mapping | null }> {
  const { dataTypeId, dataTypeName, importConfigId, mapping } = fields
  const isNamed = dataTypeId !== undefined || dataTypeName !== undefined
  if ((dataTypeId !== undefined && dataTypeName !== undefined) || (!isNamed && importConfigId === undefined))
    throw invalid('dataTypeId', ONE_TYPE)
  if (importConfigId !== undefined && mapping !== undefined)
    throw invalid('mapping', 'Give an import config or a mapping, not both.')
  const config = isUuid(importConfigId) ? await findImportConfig(tx, importConfigId) : null
  if (!isNamed && !config) throw invalid('importConfigId', NO_CONFIG, 'not-found')
  const selection = isNamed ? namedType(fields) : config
  const type =
    selection && (await acrossOrganizations(tx, () => findDataType(tx, caller.organizationId, selection)))
  if (!type) {
    const path = dataTypeId === undefined ? 'dataTypeName' : 'dataTypeId'
    throw invalid(path, 'There is no such data type.', 'not-found')
  }
  if (!dataAccess(caller, 'import/data').grants(type._id)) {
    // A config names a type that the request does not, and that the sender may know nothing of.
    const target = isNamed ? type.name : `the data type of the import config ${config?.name}`
    throw forbidden(`Your role may not import into ${target}.`)
  }
  if (fields.mode === 'upsert' && type.primaryKey === null) {
    throw invalid('mode', `${type.name} has no primary key by which its records could be found again.`)
  }
  return { type, given: readMapping(type, fields, config) }
}

function readMapping(
  type: DataType,
  { importConfigId, mapping }: Fields,
  config: ImportConfig | null,
): Mapping | null {
  if (importConfigId !== undefined) {
    if (!config) throw invalid('importConfigId', NO_CONFIG, 'not-found')
    if (config.dataTypeId !== type._id)
      throw invalid('importConfigId', 'The import config is for another data type.')
    return checkKeys(type, config.mapping, config.name)
  }
  if (mapping === undefined) return null
  let value: unknown
  try {
    value = JSON.parse(mapping)
  } catch {
    throw invalid('mapping', 'This has to be JSON: { "field": "Column" }.', 'malformed')
  }
  const proto = findProto(value)
  if (proto !== null) throw invalid(`mapping.${proto}`, 'There is no such field.', 'unknown-field')
  const checked = mappingShape.safeParse(value, REPORTING)
  if (!checked.success) {
    throw new InvalidInput(
      checked.error.issues.map(issue => ({ ...issue, path: ['mapping', ...issue.path] })),
    )
  }
  return checkKeys(type, checked.data)
}

function checkKeys(type: DataType, mapping: Mapping, configName?: string): Mapping {
  const errors = listUnfit(type, mapping).map(({ key, isGone, message }): FieldError => {
    const code = isGone ? 'unknown-field' : 'invalid'
    if (configName === undefined) return { path: `mapping.${key}`, code, message }
    const why = isGone
      ? `maps a field that ${type.name} no longer has: ${key}.`
      : `does not fit ${type.name} any more: ${message}`
    return { path: 'importConfigId', code, message: `The import config ${configName} ${why}` }
  })
  if (errors[0]) throw new FieldErrors(errors, errors[0].message)
  return mapping
}

async function inspect(path: string, type: DataType, given: GivenMapping | null, caller: Caller) {
  const giveBack = await inspections.acquire(caller.organizationId)
  try {
    const access = dataAccess(caller, 'view/data')
    const isHidden = (key: string) => access.hides(type._id, key)
    const fields = type.fields.map(({ key, label, type }) => ({ key, label, type, isHidden: isHidden(key) }))
    return await inspectFile(path, { name: type.name, fields }, given)
  } finally {
    giveBack()
  }
}

/** Throws if every row would fail. */
function checkColumns(
  type: DataType,
  { mode }: Fields,
  mapping: Mapping,
  format: ImportFormat,
  caller: Caller,
): void {
  const access = dataAccess(caller, 'view/data')
  const missing = ({ key }: { key: string }) => !Object.hasOwn(mapping, key)
  const name = (fields: DataType['fields']) =>
    listed([
      ...new Set(
        fields.map(({ key, label }) =>
          access.hides(type._id, key) ? 'a field that your role may not see' : label,
        ),
      ),
    ])
  if (mode === 'upsert') {
    const keyField = type.fields.filter(({ key }) => key === type.primaryKey)
    if (keyField.some(missing))
      throw unimportable(`There is no column for ${name(keyField)}, by which records are found again.`)
    return
  }
  const wanting = type.fields.filter(field => field.required && isAbsent(field.default) && missing(field))
  if (wanting.length > 0 && format !== 'json')
    throw unimportable(`There is no column for ${name(wanting)}, which every record needs.`)
}
