import { countData, type DataSteps, findFewData, readDataStep } from '../../../db/queries/data-in-steps.ts'
import { type DataType, findDataType, listDataTypesById } from '../../../db/queries/data-types.ts'
import { findOrganization } from '../../../db/queries/organizations.ts'
import { forbidden, found, invalid, notFound } from '../../http/errors.ts'
import { headingsOf, PLACE_PARTS, type PlaceHeadings, placeHeadingsOf } from '../../sheets/headings.ts'
import type { Exportable } from '../exports/source.ts'
import { type DataAccess, dataAccess } from './access.ts'
import { checkNamed, namedType, readFilters } from './find.ts'

/** Exports the data records of one type, with the fields that the role may both see and export. */
export const exportableData: Exportable = {
  async open(db, { organizationId, permissionDetails }, { dataTypeId, filter, fields: named, places }) {
    const which = namedType({ dataTypeId: dataTypeId ?? '' })
    const type = which && (await findDataType(db.system, organizationId, which))
    const seen = dataAccess({ permissionDetails }, 'view/data')
    // A type that the caller may not see counts as missing.
    if (!type || !seen.grants(type._id))
      throw invalid('dataTypeId', 'There is no such data type.', 'not-found')
    const access = dataAccess({ permissionDetails }, 'view/data', 'export/data')
    if (!access.grants(type._id)) throw forbidden(`Your role may not export records of ${type.name}.`)
    const request = { types: [type], oneType: true, filter, sort: 'createdAt' }
    checkNamed(access, named ? { ...request, fields: named } : { ...request, fields: undefined })
    const fields = type.fields.filter(
      ({ key }) => !access.hides(type._id, key) && (!named || named.includes(key)),
    )
    const types = await listDataTypesById(db.system, organizationId)
    const { timeZone } = found('organization', await findOrganization(db.system, organizationId))
    const headings = headingsOf(type.fields)
    const ofPlaces = places === 'columns' ? placeHeadingsOf(type.fields) : new Map<string, PlaceHeadings>()
    const steps: DataSteps = {
      organizationId,
      dataType: { _id: type._id, name: type.name },
      fields,
      names: namesOf(fields, types, seen),
      filter: readFilters(type, filter),
    }
    return {
      name: type.name,
      columns: fields.flatMap(({ key, type, options }, of) => {
        const own = ofPlaces.get(key)
        return own
          ? PLACE_PARTS.map((part, at) => ({ heading: own[at] as string, type, options, of, part }))
          : { heading: headings.get(key) as string, type, options, of }
      }),
      // Only a spreadsheet shows the names of referenced records, which are values of other types.
      keys: format => [
        ...fields.map(({ key }) => key),
        ...(format === 'xlsx' ? [...steps.names.values()].map(nameOf) : []),
      ],
      timeZone,
      isFiltered: steps.filter.length > 0,
      findFew: limit => findFewData(db.system, steps, limit),
      count: signal => countData(db.system, steps, signal),
      read: (as, page) => readDataStep(db.system, steps, as, page),
    }
  },

  async checkFile(_db, { permissionDetails }, dataTypeId, keys) {
    if (dataTypeId === null) throw notFound('data type')
    const access = dataAccess({ permissionDetails }, 'view/data', 'export/data')
    if (!access.grants(dataTypeId)) throw forbidden('Your role may not export records of this type any more.')
    access.checkKeys(
      dataTypeId,
      keys.filter(key => !key.includes('.')),
    )
    const seen = dataAccess({ permissionDetails }, 'view/data')
    for (const [other, key] of keys.filter(key => key.includes('.')).map(splitName)) {
      if (!seen.grants(other)) throw forbidden('Your role may not see what the file refers to any more.')
      seen.checkKeys(other, [key])
    }
  },
}

/** The name of a field of another type among the keys of a file. Keys of fields contain no point. */
const nameOf = ({ dataTypeId, key }: { dataTypeId: string; key: string }) => `${dataTypeId}.${key}`
const splitName = (name: string) => name.split('.') as [dataTypeId: string, key: string]

/** In a spreadsheet a reference is shown as the primary key of the other record, if the caller may see it. */
function namesOf(
  fields: DataType['fields'],
  types: readonly DataType[],
  seen: DataAccess,
): DataSteps['names'] {
  const names = new Map<string, { dataTypeId: string; key: string }>()
  for (const { key, type, dataTypeId } of fields) {
    const other = type === 'reference' ? types.find(({ _id }) => _id === dataTypeId) : undefined
    if (!other?.primaryKey || seen.hides(other._id, other.primaryKey)) continue
    names.set(key, { dataTypeId: other._id, key: other.primaryKey })
  }
  return names
}
