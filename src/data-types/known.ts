import { isUuid, type Queryable } from '../../db/client.ts'
import { listDataTypesById } from '../../db/queries/data-types.ts'
import { FieldErrors } from '../errors.ts'

/** Checks that these data types exist, each named by its place in the body: 400 for those that do not. */
export async function checkDataTypes(
  tx: Queryable,
  organizationId: string,
  named: readonly { path: string; dataTypeId: string | null }[],
): Promise<void> {
  const given = named.filter(({ dataTypeId }) => dataTypeId !== null)
  if (given.length === 0) return
  const ids = given.flatMap(({ dataTypeId }) => (isUuid(dataTypeId) ? [dataTypeId] : []))
  const found = await listDataTypesById(tx, organizationId, ids)
  const known = new Set(found.map(type => type._id))
  const message = 'There is no such data type.'
  const errors = given
    .filter(({ dataTypeId }) => !known.has(String(dataTypeId).toLowerCase()))
    .map(({ path }) => ({ path, message }))
  if (errors.length > 0) throw new FieldErrors(errors, message)
}
