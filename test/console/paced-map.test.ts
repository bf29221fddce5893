import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { expect, it } from 'vitest'

// console/map/paced-map.ts overrides triggerRepaint.
it('MapLibre draws a frame only when triggerRepaint or redraw asks for it', () => {
  const path = createRequire(import.meta.url).resolve('maplibre-gl/dist/maplibre-gl-dev.mjs')
  const drawing = readFileSync(path, 'utf8')
    .split(/\n\t(?=[\w#].*\{\n)/)
    .filter(method => /\._render\(/.test(method))
    .map(method => method.slice(0, method.indexOf('(')))
  expect(drawing.sort()).toEqual(['redraw', 'triggerRepaint'])
})
