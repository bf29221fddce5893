import type { Queryable } from '../../../db/client.ts'
import { listDataTypesById } from '../../../db/queries/data-types.ts'
import { checkReferences } from '../../http/references.ts'

/** Checks that the data types in a body exist. Throws 400 with the places of those that do not. */
export const checkDataTypes = (
  tx: Queryable,
  organizationId: string,
  ids: { [path: string]: string | null },
): Promise<void> =>
  checkReferences({
    what: 'data type',
    ids,
    find: async asked => new Set((await listDataTypesById(tx, organizationId, asked)).map(({ _id }) => _id)),
  })
