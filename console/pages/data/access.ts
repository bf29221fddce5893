import { useWorkspace } from '../../api/workspace.ts'
import type { DataType, FieldDefinition } from './data-queries.ts'

/** Tells how far the role reaches with records, by their data type: a permission may cover some types alone, and hide fields of them. */
export function useDataAccess() {
  const { user } = useWorkspace()
  const detailOf = (permission: string, typeId: string) => {
    const detail = user.permissionDetails.find(one => one.permissionName === permission)
    if (!detail?.dataTypes) return detail && { restrictedFields: [] as string[] }
    return detail.dataTypes.find(({ dataTypeId }) => dataTypeId === typeId)
  }
  return {
    may: (deed: 'view' | 'create' | 'update' | 'delete' | 'import' | 'export', typeId: string): boolean =>
      detailOf(`${deed}/data`, typeId) !== undefined,
    /** The fields that the role sees. The others are not there for it. */
    fieldsOf: (type: DataType): FieldDefinition[] => {
      const hidden = detailOf('view/data', type._id)?.restrictedFields ?? []
      return type.fields.filter(({ key }) => !hidden.includes(key))
    },
  }
}
