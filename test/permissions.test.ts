import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { grantsOf } from '../db/grants.ts'
import type { PermissionDetail } from '../db/schema/roles.ts'
import { beyondReach, covers, scopeOf } from '../src/http/permissions.ts'
import { dataAccess } from '../src/resources/data/access.ts'

const NAMES = ['view/data', 'export/data', 'view/task', 'view/hub', 'delete/organization', 'fly/rocket']
const TYPES = ['first', 'second']
const FIELDS = ['name', 'phone']
const SCOPES = ['own', 'team', 'all'] as const

const dataTypes = fc.array(
  fc.record({ dataTypeId: fc.constantFrom(...TYPES), restrictedFields: fc.subarray(FIELDS) }),
  { maxLength: 3 },
)
/** Details as they may be stored, most of them valid and some ambiguous. */
const detail: fc.Arbitrary<PermissionDetail> = fc
  .record({
    permissionName: fc.constantFrom(...NAMES),
    scope: fc.oneof({ weight: 3, arbitrary: fc.constant('all' as const) }, fc.constantFrom(...SCOPES)),
    dataTypes: fc.option(dataTypes, { nil: undefined, freq: 3 }),
  })
  .map(({ dataTypes, ...rest }) => (dataTypes ? { ...rest, dataTypes } : rest))
const role = fc.array(detail, { maxLength: 7 })

/**
 * Every single action that a role permits, as texts: a second, slow implementation of the contract's rule. A type that
 * does not exist yet counts too, with a field of its own.
 */
function listDeeds(details: readonly PermissionDetail[]): Set<string> {
  const deeds = new Set<string>()
  for (const name of NAMES.filter(name => name !== 'fly/rocket')) {
    const same = details.filter(({ permissionName }) => permissionName === name)
    const perType = name.endsWith('/data')
    const clear = same.every(
      ({ scope, dataTypes }) =>
        (scope === 'all' || name === 'view/task') &&
        (!dataTypes ||
          (perType &&
            dataTypes.length > 0 &&
            new Set(dataTypes.map(one => one.dataTypeId)).size === dataTypes.length)),
    )
    const sets = same.map(({ scope, dataTypes }) => {
      const own = new Set<string>()
      for (const reached of SCOPES.slice(0, SCOPES.indexOf(scope) + 1)) {
        if (!perType) own.add(`${name} ${reached}`)
        for (const type of perType ? [...TYPES, 'later'] : []) {
          const named = dataTypes?.find(({ dataTypeId }) => dataTypeId === type)
          if (dataTypes && !named) continue
          own.add(`${name} ${reached} ${type}`)
          for (const field of FIELDS) {
            if (!named?.restrictedFields.includes(field)) own.add(`${name} ${reached} ${type} ${field}`)
          }
        }
      }
      return own
    })
    const alike = sets.every(own => own.size === sets[0]?.size && [...own].every(deed => sets[0]?.has(deed)))
    if (clear && alike) for (const deed of sets[0] ?? []) deeds.add(deed)
  }
  return deeds
}

const nobody = { isOwner: false, hubIds: [] as string[] }
const custom = (permissionDetails: PermissionDetail[]) => ({
  name: 'Any',
  isDefault: false,
  permissionDetails,
})

describe('A role', () => {
  it('reaches further than another exactly where it lets its holder do more', () => {
    fc.assert(
      fc.property(role, role, (own, other) => {
        const allowed = listDeeds(own)
        const within = [...listDeeds(other)].every(deed => allowed.has(deed))
        expect(beyondReach({ ...nobody, permissionDetails: own }, custom(other)) === null).toBe(within)
      }),
      { numRuns: 5_000 },
    )
  })

  it('gives nobody, through any number of hands, more than the first one had', () => {
    fc.assert(
      fc.property(fc.array(role, { minLength: 2, maxLength: 4 }), given => {
        const hands = given.slice(0, 1)
        for (const next of given.slice(1)) {
          if (next.every(one => covers(hands.at(-1) as PermissionDetail[], one))) hands.push(next)
        }
        const first = listDeeds(hands[0] as PermissionDetail[])
        for (const deed of listDeeds(hands.at(-1) as PermissionDetail[])) expect(first).toContain(deed)
      }),
      { numRuns: 3_000 },
    )
  })

  it('lets nothing through anywhere that it does not say clearly', () => {
    fc.assert(
      fc.property(role, details => {
        const deeds = listDeeds(details)
        for (const name of ['view/hub', 'delete/organization', 'view/task'] as const) {
          const scope = scopeOf(details, name)
          for (const asked of SCOPES) {
            const reached = scope !== null && SCOPES.indexOf(asked) <= SCOPES.indexOf(scope)
            expect(reached).toBe(deeds.has(`${name} ${asked}`))
          }
        }
        const access = dataAccess({ permissionDetails: details }, 'view/data')
        for (const type of [...TYPES, 'later']) {
          expect(access.grants(type)).toBe(deeds.has(`view/data all ${type}`))
          for (const field of FIELDS) {
            expect(access.hides(type, field)).toBe(!deeds.has(`view/data all ${type} ${field}`))
          }
        }
        expect(access.seesEverything).toBe(
          [...TYPES, 'later'].every(type => FIELDS.every(field => !access.hides(type, field))),
        )
        expect(new Set(grantsOf(details).map(({ permissionName }) => permissionName)).size).toBe(
          grantsOf(details).length,
        )
      }),
      { numRuns: 3_000 },
    )
  })

  it('that works in every hub reaches further than one that grants the same', () => {
    const admin = { name: 'Admin', isDefault: true, permissionDetails: [] }
    expect(beyondReach({ ...nobody, permissionDetails: [] }, admin)).not.toBeNull()
    expect(beyondReach({ isOwner: false, hubIds: null, permissionDetails: [] }, admin)).toBeNull()
    const owner = { ...admin, name: 'Owner' }
    expect(beyondReach({ isOwner: false, hubIds: null, permissionDetails: [] }, owner)).not.toBeNull()
    expect(beyondReach({ isOwner: true, hubIds: null, permissionDetails: [] }, owner)).toBeNull()
  })
})
