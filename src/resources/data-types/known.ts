import type { Queryable } from '../../../db/client.ts'
import { listDataTypesById } from '../../../db/queries/data-types.ts'
import { checkReferences } from '../../http/references.ts'

/** Checks that the data types of a body exist, each named by its place: 400 for those that do not. */
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
