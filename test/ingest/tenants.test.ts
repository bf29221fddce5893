import { describe, expect, it } from 'vitest'
import { MAX_CREDENTIAL_ENTRIES, MAX_TENANT_ENTRIES } from '../../ingest/mqtt/limits.ts'
import { createTenants } from '../../ingest/mqtt/tenants.ts'

describe('The backlog of the log', () => {
  it('is bounded for a credential over all its connections, and keeps no other from being read', () => {
    const tenants = createTenants()
    const connections = Array.from({ length: 50 }, () => tenants.of({ id: 'one', organizationId: 'a' }))
    const other = tenants.of({ id: 'other', organizationId: 'a' })
    for (const connection of connections) connection.add((MAX_CREDENTIAL_ENTRIES + 50) / 50)
    expect(connections.every(({ over }) => over)).toBe(true)
    expect(other.over).toBe(false)

    let woken = 0
    for (const connection of connections) connection.wait(() => woken++)
    connections[0]?.add(-MAX_CREDENTIAL_ENTRIES / 2 + 50)
    expect([connections[1]?.over, woken]).toEqual([true, 0])
    connections[0]?.add(-100)
    expect([connections[1]?.over, woken]).toEqual([false, 50])
  })

  it('is bounded for an organization over all its credentials, and keeps no other organization from being read', () => {
    const tenants = createTenants()
    const count = MAX_TENANT_ENTRIES / MAX_CREDENTIAL_ENTRIES
    const many = Array.from({ length: count }, (_, n) => tenants.of({ id: `${n}`, organizationId: 'a' }))
    for (const credential of many) credential.add(MAX_CREDENTIAL_ENTRIES)
    const idle = tenants.of({ id: 'idle', organizationId: 'a' })
    expect(idle.over).toBe(false)
    idle.add(1)
    expect(idle.over).toBe(true)
    expect(tenants.of({ id: 'other', organizationId: 'b' }).over).toBe(false)

    let woken = false
    idle.wait(() => {
      woken = true
    })
    for (const credential of many) credential.add(-MAX_CREDENTIAL_ENTRIES)
    expect([idle.over, woken]).toEqual([false, true])
  })
})
