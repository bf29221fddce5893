import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import subsetFont from 'subset-font'
import type { Plugin } from 'vite'

const FILES = join(
  dirname(createRequire(import.meta.url).resolve('@fontsource-variable/inter/package.json')),
  'files',
)
const FOLDER = resolve(import.meta.dirname, '../../dist/typeface')
/** The style sheets name the files by this folder (styles/typeface.css). */
const ALIAS = '@typeface'
const FIRST = 'inter.woff2'

/** The style sheets use no bolder weight. The figures of a table have one width, and pairs of letters are kerned. */
const KEPT = {
  targetFormat: 'woff2',
  variationAxes: { wght: { min: 400, max: 620, default: 400 } },
  keepFeatures: ['kern', 'tnum'],
  noHinting: true,
} as const

const range = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => String.fromCodePoint(from + index)).join('')

/** Latin-1 and the signs of our texts; the other Latin letters of Europe are loaded by pages that show one. */
const SUBSETS = {
  [FIRST]: {
    of: 'inter-latin-wght-normal.woff2',
    letters: `${range(0x20, 0x7e)}${range(0xa0, 0xff)}Œœ–—…‘’‚“”„‹›•−€→←↑↓`,
  },
  'inter-extended.woff2': {
    of: 'inter-latin-ext-wght-normal.woff2',
    letters: `${range(0x100, 0x17f)}ȘșȚț`,
  },
}

/** The typeface of the pages: Inter, as much of it as they use, from our own origin and with its licence beside it. */
export async function typeface(): Promise<Plugin> {
  mkdirSync(FOLDER, { recursive: true })
  for (const [name, { of, letters }] of Object.entries(SUBSETS)) {
    writeFileSync(join(FOLDER, name), await subsetFont(readFileSync(join(FILES, of)), letters, KEPT))
  }
  return {
    name: 'typeface',
    config: () => ({ resolve: { alias: { [ALIAS]: FOLDER } } }),
    generateBundle() {
      const source = readFileSync(join(FILES, '../LICENSE'))
      this.emitFile({ type: 'asset', fileName: 'assets/inter-license.txt', source })
    },
    transformIndexHtml: {
      order: 'post',
      // The page's first words are in it: the browser need not read the style sheet first.
      handler(_html, { bundle }) {
        const name = Object.values(bundle ?? {}).find(
          file => file.type === 'asset' && file.names.includes(FIRST),
        )?.fileName
        if (!name) return
        const attrs = { rel: 'preload', as: 'font', type: 'font/woff2', crossorigin: '', href: `/${name}` }
        return [{ tag: 'link', attrs, injectTo: 'head' }]
      },
    },
  }
}
