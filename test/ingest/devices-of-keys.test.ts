import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Database } from '../../db/client.ts'
import { notify } from '../../db/client.ts'
import { findCallersByKey } from '../../db/queries/sessions.ts'
import { hashKey, toPublisher } from '../../ingest/identity/authenticate.ts'
import { createDevicesOfKeys, type Key } from '../../ingest/mqtt/devices-of-keys.ts'
import { addApiKey } from '../support/api-keys.ts'
import { createDevice } from '../support/client.ts'
import { openTestDatabase, usualKind } from '../support/database.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'

describe.runIf(usualKind() === 'postgres')('The devices of an API key', () => {
  const { server, database, owner, organization } = useOrganization()

  it('are remembered while other organizations change, and read again after a change of its own', async () => {
    const device = await createDevice(owner)
    const { key } = await addApiKey(server, owner, { role: 'Admin' })
    const db: Database = await openTestDatabase(database)
    // Events of other kinds, and those of an earlier change, may still be on their way: only the told one counts.
    let told: string | undefined
    db.onChange(event => {
      if (event.kind === 'visibility' && event.organizationId === told) told = undefined
    })
    let reads = 0
    const counted: Database = Object.assign(Object.create(db), {
      tenant: (id: string, work: Parameters<Database['tenant']>[1]) => {
        reads++
        return db.tenant(id, work)
      },
    })
    const devices = createDevicesOfKeys(counted)
    const digest = hashKey(key).toString('hex')
    const caller = (await findCallersByKey(db.signIn, [digest])).get(digest)
    if (!caller) throw new Error('There is no such key')
    const find = () => devices.find(toPublisher(caller) as Key, [device.id])
    const tell = async (organizationId: string) => {
      told = organizationId
      await notify(db.system, { kind: 'visibility', organizationId })
      await until('it is heard', () => told === undefined)
    }
    await db.hearChanges()
    const { size } = await find()
    await tell(randomUUID())
    await find()
    expect([size, reads]).toEqual([1, 1])
    await tell(organization.organizationId)
    await find()
    expect(reads).toBe(2)
    devices.close()
    await db.close()
  })
})
