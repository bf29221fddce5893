import { resolve } from 'node:path'
import { rolldown } from 'rolldown'
import { expect, it } from 'vitest'
import { useOrganization } from '../support/shared-server.ts'
import { useBrowser } from './browser.ts'

const CLIENT = resolve(import.meta.dirname, '../../clients/typescript/dist/index.js')

const { server, owner } = useOrganization()
const screens = useBrowser({ map: 'none' })

it('The TypeScript client works in a browser: requests, points in bulk, and the live socket', async () => {
  const bundle = await rolldown({ input: CLIENT, platform: 'browser' })
  const { output } = await bundle.generate({ format: 'iife', name: 'Client' })
  const page = await screens.open(`${server.url}/api/v3/docs`)
  await page.evaluate(`window.Client = (() => { ${output[0].code}; return Client })()`)
  const names = await page.evaluate(
    async ({ baseUrl, token }) => {
      const { Client } = globalThis as unknown as { Client: typeof import('#client') }
      const fieldline = new Client.Fieldline({ baseUrl, token })
      const { data: device } = await fieldline.post('/device', { body: { name: 'Bus 5' } })
      const bulk = new Client.Fieldline({ baseUrl, token: device.key }).bulk()
      bulk.add({ lat: 1, lng: 2, timestamp: Date.now() })
      await bulk.flush()
      // An acknowledged point may come after the snapshot.
      for await (const message of fieldline.live({ filter: { subjectIds: [device._id] } }))
        if ('positions' in message && message.positions.length > 0)
          return message.positions.map(({ name }) => name)
      return []
    },
    { baseUrl: server.url, token: owner.token },
  )
  expect(names).toEqual(['Bus 5'])
})
