import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Field } from '../../db/schema/flows.ts'
import { checkValue } from '../../src/resources/data/values.ts'
import { proposeMapping } from '../../src/resources/imports/mapping.ts'
import type { Cell } from '../../src/sheets/cell.ts'
import { placeHeadingsOf } from '../../src/sheets/headings.ts'
import { joinPlace } from '../../src/sheets/values/places.ts'
import { cellOf } from '../../src/sheets/writers/cell-values.ts'

const field = (key: string, label: string, type: Field['type'] = 'location'): Field => ({
  ...{ key, label, type, required: false, unique: false, options: [], order: 0, dataTypeId: null },
})
const place = field('place', 'Place')

describe('The two columns of a place', () => {
  const proposed = (headings: string[], fields = [place], sample: Cell[][] = []) =>
    proposeMapping(fields, headings, sample)

  it.each([
    ['lat', 'lng'],
    ['LAT', 'LON'],
    ['Latitude', 'Longitude'],
    ['stop_lat', 'stop_lon'],
    ['startLat', 'startLong'],
    ['Latitude (WGS84)', 'Longitude (WGS84)'],
    ['lat_home', 'lng_home'],
    ['Breitengrad', 'Längengrad'],
    ['Latitud', 'Longitud'],
    ['Szerokość', 'Długość'],
    ['纬度', '经度'],
  ])('are known by their usual names: %s and %s', (latitude, longitude) => {
    expect(proposed(['Name', longitude, latitude])).toEqual({ place: [latitude, longitude] })
  })

  it.each([['flat', 'salon'], ['lat'], ['lat', 'lng', 'lon'], ['latitude', 'stop_lon'], ['plate', 'long']])(
    'are not proposed where one is missing or could be another: %s %s %s',
    (...headings) => {
      expect(proposed(headings)).toEqual({})
    },
  )

  it('have to look like degrees where their names may mean something else', () => {
    const like = (...sample: Cell[][]) => [
      Object.keys(proposed(['Länge', 'Breite'], [place], sample)),
      Object.keys(proposed(['x', 'y'], [place], sample)),
      Object.keys(proposed(['stop x', 'stop y'], [place], sample)),
    ]
    const found = [['place'], ['place'], ['place']]
    const none = [[], [], []]
    expect(like([13.405, 52.52], [null, ' '], ['13,40512', '52,5'])).toEqual(found)
    expect(like()).toEqual(none)
    expect(like([null, null])).toEqual(none)
    expect(like([120, 80])).toEqual(none)
    expect(like([13.405, 52.52], [12.5, 30.25])).toEqual(none)
    expect(like([392_345.123, 582_098.123])).toEqual(none)
    expect(like([13.405, 'wide'])).toEqual(none)
    expect(like([13.405, null])).toEqual(none)
  })

  it('go to the place that they are named after, else to the only one that has none', () => {
    const home = field('home', 'Home')
    const work = field('work', 'Place of work')
    const headings = ['home_lat', 'home_lng', 'Place of work latitude', 'Place of work longitude']
    expect(proposed(headings, [home, work])).toEqual({ home: headings.slice(0, 2), work: headings.slice(2) })
    expect(proposed(['lat', 'lng'], [home, work])).toEqual({})
    expect(proposed(['lat', 'lng', 'Home'], [home, work])).toEqual({ home: 'Home', work: ['lat', 'lng'] })
    const degrees = [field('lat', 'Latitude', 'number'), field('lng', 'Longitude', 'number')]
    expect(proposed(['lat', 'lng'], [place, ...degrees])).toEqual({ lat: 'lat', lng: 'lng' })
  })

  it('go before a column that is named like the place and holds addresses, which is its third', () => {
    const address = field('address', 'Address')
    const like = (row: Cell[], one = address) => proposed(['Address', 'lat', 'lng'], [one], [row])
    expect(like(['Main St 1', 52.5, 13.4])).toEqual({ address: ['lat', 'lng', 'Address'] })
    expect(like(['Main St 1', 52.5, 13.4], place)).toEqual({ place: ['lat', 'lng', 'Address'] })
    expect(like(['52.5, 13.4', 52.5, 13.4])).toEqual({ address: 'Address' })
    expect(like([null, 52.5, 13.4])).toEqual({ address: 'Address' })
    const text = field('text', 'Address', 'text')
    expect(proposed(['Address', 'lat', 'lng'], [place, text])).toEqual({
      place: ['lat', 'lng'],
      text: 'Address',
    })
  })

  it('are those that an export writes, whatever the labels of the type', () => {
    const labels = fc.constantFrom(
      'Place',
      'place',
      'PLACE!',
      'Place latitude',
      'Lat',
      'Long',
      'Ort (a)',
      '東京',
    )
    fc.assert(
      fc.property(fc.array(fc.tuple(labels, fc.boolean()), { minLength: 1, maxLength: 6 }), made => {
        const fields = made.map(([label, isPlace], at) =>
          field(`key_${at}`, label, isPlace ? 'location' : 'text'),
        )
        const written = placeHeadingsOf(fields)
        const all = [...written.values()].flat()
        expect(new Set(all).size).toBe(all.length)
        // There may be fields of other types whose labels are names of degrees.
        if (made.every(([, isPlace]) => isPlace))
          expect(proposeMapping(fields, all)).toEqual(Object.fromEntries(written))
      }),
      // Its columns of degrees get the key, because the label of the last one is the name of a column of its own.
      {
        examples: [
          [['Lat', 'Long', 'Place', 'Place latitude'].map((label): [string, boolean] => [label, true])],
        ],
      },
    )
  })

  it('are a place as they were, with its address or without', () => {
    const parts = (['lat', 'lng', 'address'] as const).map(part =>
      cellOf({ type: 'location', options: [], part }, 'UTC'),
    )
    const degrees = (max: number) => fc.double({ min: -max, max, noNaN: true })
    const address = fc.string({ maxLength: 20 }).filter(text => text.trim() !== '' && !text.includes('\0'))
    fc.assert(
      fc.property(
        fc.record({ lat: degrees(90), lng: degrees(180), address }, { requiredKeys: ['lat', 'lng'] }),
        given => {
          const before = checkValue(place, given) as { value: unknown }
          const joined = joinPlace(parts.map(write => write(before.value)?.value ?? null))
          expect('cell' in joined && checkValue(place, (joined.cell as { json: unknown }).json)).toEqual(
            before,
          )
        },
      ),
    )
  })

  it.each<[Cell, Cell, unknown]>([
    ['52,52', '13,405', { lat: 52.52, lng: 13.405 }],
    [' +52.5° ', '−13.4', { lat: 52.5, lng: -13.4 }],
    ['٥٢٫٥', '１３', { lat: 52.5, lng: 13 }],
    [{ number: 52.5, as: 'amount' }, { json: '13.405' }, { lat: 52.5, lng: 13.405 }],
    [{ json: null }, '', null],
    ['52.5', ' ', 'both a latitude and a longitude'],
    ['52° 30′ N', '13.4', 'in degrees, such as'],
    ['1.234.567', '13.4', 'in degrees, such as'],
    [{ number: 0.5, as: 'percentage' }, 13.4, 'in degrees, such as'],
    [{ local: '2026-05-05T00:00:00.000', serial: 46_147 }, 13.4, 'in degrees, such as'],
    [true, 13.4, 'in degrees, such as'],
    ['91', '13.4', 'in degrees, such as'],
    ['13.4', '-180,5', 'in degrees, such as'],
    [{ fault: '#REF!' }, 13.4, 'holds no value: #REF!'],
  ])('are read as people write degrees: %j and %j', (lat, lng, expected) => {
    const joined = joinPlace([lat, lng])
    if (typeof expected === 'string') expect(joined).toEqual({ message: expect.stringContaining(expected) })
    else expect(joined).toEqual({ cell: expected === null ? null : { json: expected } })
  })
})
