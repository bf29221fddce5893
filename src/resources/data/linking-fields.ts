import type { Queryable } from '../../../db/client.ts'
import { listChangingFields } from '../../../db/queries/data-type-changes.ts'
import { listDataTypesById } from '../../../db/queries/data-types.ts'

/**
 * The fields by which records may refer to records of a type: references, and fields whose rules are being changed, which may become
 * references. The caller has locked the records: a change that begins after this waits for it, and finds them deleted. Those that
 * change are read first: a change that ends between the two queries is in the second one.
 */
export async function listLinkingFields(
  tx: Queryable,
  organizationId: string,
  dataTypeId: string,
): Promise<{ dataTypeId: string; key: string }[]> {
  const changing = await listChangingFields(tx, organizationId)
  const types = await listDataTypesById(tx, organizationId)
  const references = types.flatMap(({ _id, fields }) =>
    fields
      .filter(field => field.type === 'reference' && (field.dataTypeId ?? dataTypeId) === dataTypeId)
      .map(({ key }) => ({ dataTypeId: _id, key })),
  )
  return [...references, ...changing]
}
