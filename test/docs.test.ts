import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { expect, it } from 'vitest'

const ROOT = resolve(import.meta.dirname, '..')

const readProse = (file: string) => readFileSync(join(ROOT, file), 'utf8').replace(/```.*?```/gs, '')

/** The anchor that GitHub gives a heading. */
const anchorOf = (heading: string) =>
  heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-')

it('Every link in the documentation leads to a file, and to a heading of it', () => {
  const inFolder = (folder: string, recursive = false) =>
    readdirSync(join(ROOT, folder), { recursive, encoding: 'utf8' }).map(name => join(folder, name))
  const files = [
    ...inFolder(''),
    ...inFolder('docs', true),
    ...inFolder('basemap'),
    ...inFolder('clients/typescript'),
  ].filter(name => name.endsWith('.md'))
  const links = files.flatMap(file =>
    [...readProse(file).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => ({ file, link })),
  )
  expect(links.length).toBeGreaterThan(200)
  const broken = links.filter(({ file, link }) => {
    if (/^(https?|mailto):/.test(link)) return false
    const [path = '', anchor] = link.split('#')
    const target = path === '' ? file : join(dirname(file), path)
    if (!existsSync(join(ROOT, target))) return true
    if (anchor === undefined || !target.endsWith('.md')) return false
    return ![...readProse(target).matchAll(/^#+ (.*)$/gm)].some(
      ([, heading = '']) => anchorOf(heading) === anchor,
    )
  })
  expect(broken).toEqual([])
})
