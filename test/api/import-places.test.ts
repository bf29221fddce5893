import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { openSource } from '../../src/sheets/open-source.ts'
import { ended, importFile, upload } from '../support/imports.ts'
import { useOrganization } from '../support/shared-server.ts'

// In the form in which Toronto's public transport publishes it, according to GTFS.
const STOPS = `stop_id,stop_name,stop_desc,stop_lat,stop_lon
262,Danforth Rd at Kennedy Rd,near the station,43.714379,-79.260939
263,Davenport Rd at Bedford Rd,,43.674448,-79.399659
264,Nowhere,,43.5,
265,Far away,,143.5,-79.3
266,Without a place,,,
`

describe('A place in two columns', () => {
  const { server, owner } = useOrganization()
  let dataTypeId: string

  beforeAll(async () => {
    const fields = [
      { key: 'id', label: 'stop_id', type: 'text' },
      { key: 'name', label: 'stop_name', type: 'text' },
      { key: 'place', label: 'Place', type: 'location' },
    ]
    const made = await owner.post('/data-type', { name: 'Stop', fields, primaryKey: 'id' })
    dataTypeId = made.body.data._id
  })
  const read = async () =>
    (await owner.get(`/data?dataTypeId=${dataTypeId}&sort=createdAt`)).body.data.map(
      ({ data }: { data: { [field: string]: unknown } }) => data,
    )

  it('is read where its columns are named as usual, and bad rows come back as they were', async () => {
    const done = await importFile(server, owner, STOPS, { dataTypeId })
    expect(done).toMatchObject({
      mapping: { id: 'stop_id', name: 'stop_name', place: ['stop_lat', 'stop_lon'] },
      ...{ created: 3, failed: 2 },
      failures: [
        { row: 4, field: 'place', value: '43.5, ', message: expect.stringContaining('both a latitude') },
        {
          row: 5,
          field: 'place',
          value: '143.5, -79.3',
          message: expect.stringContaining('a latitude (-90 to 90) and a longitude'),
        },
      ],
    })
    expect(await read()).toEqual([
      { id: '262', name: 'Danforth Rd at Kennedy Rd', place: { lat: 43.714379, lng: -79.260939 } },
      { id: '263', name: 'Davenport Rd at Bedford Rd', place: { lat: 43.674448, lng: -79.399659 } },
      { id: '266', name: 'Without a place' },
    ])
    const failed = await fetch(`${server.url}/api/v3/import-monitoring/${done._id}/failed-rows`, {
      headers: { authorization: `Bearer ${owner.token}` },
    })
    const lines = (await failed.text()).split('\r\n')
    expect(lines[1]).toBe(
      '264,Nowhere,,43.5,,"stop_lat, stop_lon: A place has both a latitude and a longitude."',
    )
  })

  it('is mapped by hand and by an import config, with its address, and a field that is no place is not', async () => {
    const mapping = { id: 'stop_id', place: ['STOP_LAT', 'stop_lon', 'stop_desc'] }
    const made = await owner.post('/import-config', { name: 'Stops', dataTypeId, mapping })
    expect([made.status, made.body.data.mapping]).toEqual([201, mapping])
    const ways: { [name: string]: string }[] = [
      { importConfigId: made.body.data._id },
      { mapping: JSON.stringify(mapping) },
    ]
    for (const how of ways) {
      const done = await importFile(server, owner, STOPS, { dataTypeId, mode: 'upsert', ...how })
      expect(done.mapping).toEqual({ id: 'stop_id', place: ['stop_lat', 'stop_lon', 'stop_desc'] })
    }
    expect((await read())[0].place).toEqual({ lat: 43.714379, lng: -79.260939, address: 'near the station' })

    for (const [columns, path] of [
      [{ name: ['stop_lat', 'stop_lon'] }, 'mapping.name'],
      [{ place: ['stop_lat'] }, 'mapping.place'],
      [{ place: ['stop_lat', 'stop_lat'] }, 'mapping.place'],
      [{ place: ['a', 'b', 'c', 'd'] }, 'mapping.place'],
      [{ place: ['stop_lat', 7] }, 'mapping.place.1'],
      [{ place: ['stop_lat', ' '] }, 'mapping.place.1'],
      [{ place: { lat: 'stop_lat' } }, 'mapping.place'],
    ] as const) {
      const config = await owner.post('/import-config', { name: 'Wrong', dataTypeId, mapping: columns })
      const sent = await upload(server, owner, STOPS, { dataTypeId, mapping: JSON.stringify(columns) })
      for (const answer of [config, sent]) {
        expect([answer.status, answer.body.errors?.[0].path]).toEqual([400, path])
        if ('name' in columns) expect(answer.body.message).toContain('stop_lat, stop_lon')
        if (columns.place?.length === 1) expect(answer.body.message).toContain('latitude and its longitude')
      }
    }
    const missing = await upload(server, owner, STOPS, {
      dataTypeId,
      mapping: '{"place":["stop_lat","lon"]}',
    })
    expect([missing.status, missing.body.message]).toEqual([422, expect.stringContaining('no column lon.')])
  })

  it('is exported so, and imported again it is the same', async () => {
    const before = await read()
    const folder = mkdtempSync(join(tmpdir(), 'fieldline-places-'))
    try {
      const answer = await fetch(`${server.url}/api/v3/data/export`, {
        method: 'POST',
        headers: { authorization: `Bearer ${owner.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ dataTypeId, format: 'xlsx', places: 'columns' }),
      })
      const file = Buffer.from(await answer.arrayBuffer())
      const path = join(folder, 'file')
      writeFileSync(path, file)
      const source = await openSource({ path, format: 'xlsx' }, [])
      const rows: unknown[] = []
      for await (const { cells } of source.rows) rows.push(cells)
      source.close()
      expect(rows.slice(0, 2)).toEqual([
        ['stop_id', 'stop_name', 'Place latitude', 'Place longitude', 'Place address'],
        ['262', 'Danforth Rd at Kennedy Rd', 43.714379, -79.260939, 'near the station'],
      ])
      expect((await owner.get('/tasks/export-log')).body.data[0]).toMatchObject({ places: 'columns' })

      const again = await importFile(server, owner, file, { dataTypeId }, 'stops.xlsx')
      expect(again).toMatchObject({ status: 'completed', unchanged: 3, total: 3 })
      await owner.delete(`/data/${(await owner.get(`/data/type/Stop/262`)).body.data._id}`)
      const sent = await upload(server, owner, file, { dataTypeId }, 'stops.xlsx')
      expect(await ended(owner, sent.body.data._id)).toMatchObject({ created: 1, unchanged: 2, failures: [] })
      expect(
        (await read()).toSorted((a: { id: string }, b: { id: string }) => a.id.localeCompare(b.id)),
      ).toEqual(before)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
