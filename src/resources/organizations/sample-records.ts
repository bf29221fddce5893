import { acrossOrganizations, type Queryable } from '../../../db/client.ts'
import {
  type DataRecord,
  deleteRecord,
  findRecord,
  insertRecords,
  listReferring,
  listSampleRecords,
  newRecords,
} from '../../../db/queries/data.ts'
import { findDataType, insertDataType, type NewDataType } from '../../../db/queries/data-types.ts'
import type { Values } from '../../../db/schema/data-records.ts'
import type { Field, FieldType } from '../../../db/schema/flows.ts'
import { listLinkingFields } from '../data/linking-fields.ts'

const field = (
  key: string,
  label: string,
  type: FieldType,
  more: Partial<Field> = {},
): Omit<Field, 'order'> => ({
  key,
  label,
  type,
  required: false,
  unique: false,
  options: [],
  default: null,
  dataTypeId: null,
  ...more,
})
const KEY = { required: true, unique: true }

/** Customers, products and employees: the types that most organizations begin with. */
const SAMPLES: readonly {
  type: Omit<NewDataType, 'fields'> & { fields: Omit<Field, 'order'>[] }
  records: Values[]
}[] = [
  {
    type: {
      name: 'Sample customer',
      type: 'customer',
      primaryKey: 'customerNumber',
      fields: [
        field('customerNumber', 'Customer number', 'text', KEY),
        field('name', 'Name', 'text', { required: true }),
        field('phone', 'Phone', 'phone'),
        field('email', 'E-mail', 'email'),
        field('address', 'Address', 'location'),
      ],
    },
    records: [
      {
        customerNumber: 'C-1001',
        name: 'Harbour Bakery',
        phone: '+49 40 5550101',
        email: 'orders@harbour-bakery.example',
        address: { lat: 53.5436, lng: 9.9886, address: 'Am Sandtorkai 1, 20457 Hamburg' },
      },
      {
        customerNumber: 'C-1002',
        name: 'Green Garden Care',
        phone: '+49 30 5550102',
        email: 'hello@green-garden.example',
        address: { lat: 52.5219, lng: 13.4132, address: 'Alexanderplatz 1, 10178 Berlin' },
      },
      { customerNumber: 'C-1003', name: 'Old Town Books', phone: '+49 89 5550103' },
    ],
  },
  {
    type: {
      name: 'Sample product',
      type: 'product',
      primaryKey: 'sku',
      fields: [
        field('sku', 'Article number', 'text', KEY),
        field('name', 'Name', 'text', { required: true }),
        field('price', 'Price', 'number'),
        field('unit', 'Unit', 'select', { options: ['piece', 'kg', 'litre'] }),
      ],
    },
    records: [
      { sku: 'P-1', name: 'Parcel box', price: 2.5, unit: 'piece' },
      { sku: 'P-2', name: 'Potting soil', price: 0.6, unit: 'kg' },
      { sku: 'P-3', name: 'Cleaning agent', price: 3.9, unit: 'litre' },
    ],
  },
  {
    type: {
      name: 'Sample employee',
      type: 'employee',
      primaryKey: 'staffNumber',
      fields: [
        field('staffNumber', 'Staff number', 'text', KEY),
        field('name', 'Name', 'text', { required: true }),
        field('phone', 'Phone', 'phone'),
        field('skills', 'Skills', 'multiselect', { options: ['driving', 'assembly', 'sales'] }),
        field('since', 'Since', 'date'),
      ],
    },
    records: [
      { staffNumber: 'E-1', name: 'Alex Sample', skills: ['driving'], since: '2024-03-01' },
      { staffNumber: 'E-2', name: 'Kim Sample', skills: ['assembly', 'sales'], since: '2025-09-15' },
    ],
  },
]

/** Creates sample types with their records. An existing type of the same name stays as it is. */
export function createSampleRecords(tx: Queryable, organizationId: string): Promise<void> {
  return acrossOrganizations(tx, async () => {
    for (const { type, records } of SAMPLES) {
      if (await findDataType(tx, organizationId, { dataTypeName: type.name })) continue
      const fields = type.fields.map((field, order) => ({ ...field, order }))
      const dataTypeId = await insertDataType(tx, organizationId, { ...type, fields, isSample: true })
      const created = await findDataType(tx, organizationId, { dataTypeId }, 'FOR SHARE')
      if (created) await insertRecords(tx, organizationId, created, newRecords(records), true)
    }
  })
}

/** The sample customers that still exist. */
export function listSampleCustomers(tx: Queryable, organizationId: string): Promise<DataRecord[]> {
  return acrossOrganizations(tx, async () => {
    const [type] = SAMPLES.filter(({ type }) => type.type === 'customer')
    const found = type && (await findDataType(tx, organizationId, { dataTypeName: type.type.name }))
    const records = await listSampleRecords(tx, organizationId)
    return records.filter(({ dataTypeId }) => dataTypeId === found?._id)
  })
}

/**
 * Deletes a sample record that no record refers to. Returns whether it did. Call it across organizations, and
 * `deleteEmptySampleTypes` once the last one is gone.
 */
export async function deleteSampleRecord(
  tx: Queryable,
  organizationId: string,
  { _id, dataTypeId }: DataRecord,
): Promise<boolean> {
  // The same lock as every writer of records takes, so that a change of their type notices it.
  const type = await findDataType(tx, organizationId, { dataTypeId }, 'FOR SHARE')
  const record = await findRecord(tx, organizationId, _id, 'FOR UPDATE')
  if (!type || !record) return false
  const linking = await listLinkingFields(tx, organizationId, dataTypeId)
  if ((await listReferring(tx, organizationId, _id, linking, 1)).length > 0) return false
  await deleteRecord(tx, organizationId, type, record)
  return true
}
