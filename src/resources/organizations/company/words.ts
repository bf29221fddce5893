import type { NewFlow } from '../../../../db/queries/flows.ts'
import type { Field, FieldType } from '../../../../db/schema/flows.ts'
import type { FenceShape } from '../../../../db/schema/geofences.ts'
import { field, steps } from '../../flows/templates.ts'

/** The names and texts of the sample company. The people, their addresses and their numbers do not exist. */
export const DRIVERS = [
  ...['Maria Lopez', 'James Chen', 'Aisha Patel', 'Daniel Kim', 'Sofia Rossi', 'Marcus Brown'],
  ...['Emily Nguyen', 'Omar Haddad', 'Grace Wilson', 'Leo Fischer', 'Nina Petrova', 'Samuel Okafor'],
]

export const TEAMS = ['Early shift', 'Late shift']

export const FENCES: readonly { name: string; shape: FenceShape }[] = [
  {
    name: 'Financial District',
    shape: {
      type: 'polygon',
      coordinates: [
        [-122.4078, 37.7862],
        [-122.3965, 37.7862],
        [-122.3915, 37.7935],
        [-122.3985, 37.7995],
        [-122.4078, 37.7975],
        [-122.4078, 37.7862],
      ],
    },
  },
  {
    name: 'Golden Gate Park',
    shape: {
      type: 'polygon',
      coordinates: [
        [-122.5115, 37.7642],
        [-122.4535, 37.7662],
        [-122.4535, 37.7745],
        [-122.5115, 37.7715],
        [-122.5115, 37.7642],
      ],
    },
  },
]
/** The radius of the geofence around each depot, in metres. */
export const DEPOT_RADIUS_M = 150

const whyNot = (...options: string[]) => field('reason', 'Reason', 'select', { required: true, options })

/** The values that drivers of the company enter when a task is completed or has failed, by its flow. */
export const ENTERED = {
  'Parcel delivery': {
    completed: { signedBy: 'Front desk', parcels: 3 },
    failed: { reason: 'nobody there' },
  },
  'Coffee machine service': {
    completed: { workDone: 'Descaled, and the filter changed', hours: 0.5 },
    failed: { reason: 'closed today' },
  },
} as const

export const FLOWS: readonly (NewFlow & { name: keyof typeof ENTERED })[] = [
  {
    name: 'Parcel delivery',
    dataTypeId: null,
    steps: steps({
      completed: [
        field('signedBy', 'Signed by', 'text', { required: true }),
        field('parcels', 'Parcels', 'number', { required: true }),
      ],
      failed: [whyNot('nobody there', 'wrong address', 'refused')],
    }),
  },
  {
    name: 'Coffee machine service',
    dataTypeId: null,
    steps: steps({
      completed: [
        field('workDone', 'Work done', 'text', { required: true }),
        field('hours', 'Hours', 'number'),
      ],
      failed: [whyNot('closed today', 'spare part missing')],
    }),
  },
]

const KEY = { required: true, unique: true }
const columns: readonly [key: string, label: string, type: FieldType, more?: Partial<Field>][] = [
  ['customerNumber', 'Customer number', 'text', KEY],
  ['name', 'Name', 'text', { required: true }],
  ['phone', 'Phone', 'phone'],
  ['email', 'E-mail', 'email'],
  ['address', 'Address', 'location'],
  ['since', 'Customer since', 'date'],
]
export const CUSTOMER_TYPE = 'San Francisco customer'
export const CUSTOMER_FIELDS: Field[] = columns.map(([key, label, type, more], order) => ({
  ...field(key, label, type, more),
  order,
}))

/** A list as customers send it: some rows have to be mended. */
export const IMPORT_FILE = 'new-customers.csv'
export const IMPORT_MAPPING = {
  customerNumber: 'Customer number',
  name: 'Name',
  phone: 'Phone',
  email: 'E-mail',
  since: 'Customer since',
}
export const IMPORT_TEXT = `Customer number,Name,Phone,E-mail,Customer since
SF-2001,Alder Tea House,+1 415 555 0131,hello@alder-tea.example,2026-01-12
SF-2002,Beacon Records,+1 415 555 0132,shop@beacon-records.example,2026-02-03
SF-2003,Cypress Framing,call after six,cypress@framing.example,2026-02-17
SF-2004,Dune Surf Shop,+1 415 555 0134,info@dune-surf.example,2026-03-02
SF-2005,,+1 415 555 0135,orders@embers.example,2026-03-09
SF-2006,Fennel Catering,+1 415 555 0136,fennel at catering.example,2026-03-20
SF-2007,Gull Letterpress,+1 415 555 0137,print@gull.example,2026-04-01
SF-2002,Harbor Knits,+1 415 555 0138,wool@harbor-knits.example,2026-04-14
SF-2009,Iris Ceramics,+1 415 555 0139,kiln@iris.example,the day before yesterday
SF-2010,Juniper Yoga,+1 415 555 0140,hi@juniper.example,2026-05-05
`
