import {
  type CompanyVehicle,
  type Customer,
  type Depot,
  readCompany,
  readRounds,
} from '../../../streets/company.ts'
import { distanceM, type Track } from '../../../streets/track.ts'
import { driveShift, type Shift, type Visit } from './shifts.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** The days of history before today. */
const DAYS = 14
/** The length of a shift; a round that has begun is driven to its end. */
const SHIFT_MS = 6 * HOUR_MS
/** How far today's shift is planned. */
const AHEAD_MS = 3 * HOUR_MS
/** Vehicles leave their depot one after the other. */
const APART_MS = 17 * 60_000
/** A stop this close to a customer is a visit there. */
const AT_CUSTOMER_M = 25

/** The whole fortnight of the company, of which shifts are driven when they are needed. */
export interface Plan {
  /** The moment of its creation, in milliseconds since 1970. */
  at: number
  depots: Depot[]
  customers: Customer[]
  vehicles: CompanyVehicle[]
  /** Today's first, then the oldest to the newest: [vehicle, days ago]. */
  shifts: (readonly [vehicle: CompanyVehicle, day: number])[]
  drive(vehicle: CompanyVehicle, day: number): Shift
}

/** Plans the company's fortnight that ends at `at`. The same moment leads to the same plan. */
export async function planCompany(at: number): Promise<Plan> {
  const { depots, customers, vehicles } = readCompany()
  const rounds = new Map<Depot, Track[]>()
  for (const depot of depots) rounds.set(depot, await readRounds(depot))
  const past = Array.from({ length: DAYS }, (_, index) => DAYS - index).filter(
    day => new Date(at - day * DAY_MS).getUTCDay() !== 0,
  )
  return {
    at,
    depots,
    customers,
    vehicles,
    shifts: [0, ...past].flatMap(day => vehicles.map(vehicle => [vehicle, day] as const)),
    drive(vehicle, day) {
      const { number, depot, firstRound } = vehicle
      const from = at - day * DAY_MS - SHIFT_MS + (number % 4) * APART_MS
      const until = day === 0 ? at + AHEAD_MS : from + SHIFT_MS
      const ways = rounds.get(depot) as Track[]
      const shift = driveShift({
        vehicle: number,
        day,
        rounds: ways,
        firstRound: firstRound + day,
        from,
        until,
      })
      return { visits: shift.visits, fixes: shift.fixes.filter(fix => fix.at <= at) }
    },
  }
}

/** The index of the customer at whom a visit is, or -1. */
export const findCustomer = (customers: readonly Customer[], visit: Visit): number =>
  customers.findIndex(customer => distanceM(customer, visit) < AT_CUSTOMER_M)
