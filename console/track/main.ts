import '../styles/track.css'
import '../preferences.ts'
import { serverNow } from '../clock.ts'
import type { State } from '../live/packed.ts'
import { OWNERS, readBasemapSetting } from '../map/basemap-setting.ts'
import { readMapColors } from '../map/colors.ts'
import { nearX, toX, toY } from '../map/mercator.ts'
import { loadTypeface } from '../map/typeface.ts'
import { onTheme } from '../preferences.ts'
import { de } from '../texts/de/de.ts'
import { trackTexts as trackInGerman } from '../texts/de/track.ts'
import { en } from '../texts/en/en.ts'
import { trackTexts as trackInEnglish } from '../texts/en/track.ts'
import { createFormat } from '../texts/format.ts'
import { isolateNames } from '../texts/isolate.ts'
import { unitsOf } from '../texts/region.ts'
import { followLink, type Heard, type Point } from './link.ts'
import { createMiniMap } from './mini-map.ts'
import { createPlaceWords } from './place-words.ts'

/** Faster than this counts as driving; the live socket of a link sends no state. */
const MOVING_MPS = 1
/** The server's own limit: an older speed says nothing about now. */
const FRESH_MS = 60_000
const SPOKEN_EVERY_MS = 15_000
const WRITTEN_EVERY_MS = 1_000
const LONGEST_MOVE_MS = 5_000
const MINUTE_MS = 60_000

const language = navigator.languages.find(name => /^(en|de)/.test(name)) ?? 'en'
const isGerman = language.startsWith('de')
const texts = isolateNames(isGerman ? de : en)
const t = isolateNames(isGerman ? trackInGerman : trackInEnglish)
// Browsers take English without a country for American.
const locale = language === 'en' ? 'en-GB' : language
const format = createFormat(locale, undefined, texts, unitsOf(navigator.language))
const { errors } = texts
document.documentElement.lang = language.slice(0, 2)

const make = <K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Partial<HTMLElementTagNameMap[K]>,
  ...children: Node[]
) => {
  const element = Object.assign(document.createElement(tag), props)
  element.append(...children)
  return element
}
const heading = make('h1', { textContent: texts.loading })
const sentence = make('p', { className: 'sentence' })
const where = make('p', { className: 'where', hidden: true })
const spoken = make('div', { className: 'unseen', role: 'status' })
const note = make('p', { className: 'note', hidden: true })
const until = make('p', { className: 'hint' })
const canvas = make('canvas', {})
canvas.setAttribute('role', 'img')
const button = (text: string, label: string, onclick: () => void) =>
  make('button', { type: 'button', textContent: text, ariaLabel: label, onclick })
const map = createMiniMap(canvas, readMapColors)
const buttons = make(
  'div',
  { className: 'buttons' },
  button('◎', t.center, () => map.goToMarker()),
  button('+', texts.map.zoomIn, () => map.zoomBy(1)),
  button('−', texts.map.zoomOut, () => map.zoomBy(-1)),
)
const card = make('div', { className: 'card' }, heading, where, sentence, note, until)
const owners = OWNERS.flatMap(({ name, href }, index) => [
  ...(index > 0 ? [document.createTextNode(' · ')] : []),
  make('a', { textContent: name, href, target: '_blank', rel: 'noreferrer' }),
])
const sources = make('p', { className: 'sources', hidden: readBasemapSetting() === null }, ...owners)
const main = make('main', {}, make('div', { className: 'map' }, canvas, sources, buttons), card)
document.getElementById('root')?.replaceChildren(spoken, main)
onTheme(map.request)
void loadTypeface().then(map.request)

let newest: Point | null = null
let from = { x: 0, y: 0 }
let startedAt = 0
let movesMs = 0
let shown = { x: 0, y: 0 }
let spokenAt = 0
let spokenOf = ''
let drawn: State | null = null
let heard: Heard = 'live'
let isKnown = false
let trailMs = 0

const ageOf = ({ timestamp }: Point) => serverNow() - Date.parse(timestamp)

function stateOf(point: Point): State {
  // Without messages only the last known position is certain.
  if (heard !== 'live' || ageOf(point) >= FRESH_MS) return 'offline'
  return (point.speed ?? 0) > MOVING_MPS ? 'moving' : 'idle'
}

/** "moving, 32 km/h, heading north, just now", or "last seen 2 minutes ago" */
function describe(point: Point): string {
  const { speed, heading: degrees, timestamp } = point
  const state = stateOf(point)
  const ago = format.ago(Date.parse(timestamp))
  // "Just now" would mean that it is still there.
  if (state === 'offline') return t.seen(ageOf(point) < FRESH_MS ? format.seconds(timestamp) : ago)
  const moving = state === 'moving'
  const parts = [moving ? t.moving : t.standing]
  if (moving && speed !== null) parts.push(format.speed(speed))
  if (moving && degrees !== null) parts.push(t.heading(format.compass(degrees)))
  return [...parts, ago].join(', ')
}

function write(): void {
  const description = newest ? describe(newest) : isKnown ? t.waiting : ''
  sentence.textContent = description
  const words = where.textContent
  canvas.ariaLabel = description
    ? [`${heading.textContent}: ${description}`, words].filter(Boolean).join(', ')
    : heading.textContent
  if (trailMs > 0) map.cutTrail(serverNow() - trailMs)
  const state = newest && stateOf(newest)
  // A subject that stops sending stops on the map too.
  if (state !== drawn) move()
  // A change of state is always announced, movements only now and then.
  const turn = `${isKnown} ${heard} ${state}`
  if (turn === spokenOf && performance.now() - spokenAt < SPOKEN_EVERY_MS) return
  spokenAt = performance.now()
  spokenOf = turn
  say(description, where.textContent, note.textContent)
}

/** Announces a sentence only once. */
function say(...sentences: string[]): void {
  if (sentences.join('') === spoken.textContent) return
  spoken.replaceChildren(...sentences.map(textContent => make('p', { textContent })))
}

function place(point: Point, animate: boolean): void {
  if (newest && point.timestamp <= newest.timestamp) return
  const now = performance.now()
  from = animate && newest ? shown : { x: toX(point.lng), y: toY(point.lat) }
  if (animate && newest && trailMs > 0) map.addToTrail(newest)
  movesMs = animate && newest ? Math.min(LONGEST_MOVE_MS, now - startedAt) : 0
  startedAt = now
  newest = point
  findWords(point)
  move()
  write()
}

function move(): void {
  if (!newest) return
  const share = movesMs > 0 ? Math.min(1, (performance.now() - startedAt) / movesMs) : 1
  const to = { x: nearX(toX(newest.lng), from.x), y: toY(newest.lat) }
  shown = { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share }
  drawn = stateOf(newest)
  map.setMarker({ ...shown, heading: newest.heading, state: drawn })
  if (share < 1) requestAnimationFrame(move)
}

function showName(name: string): void {
  heading.textContent = document.title = t.title(name)
}

function showGone(): void {
  clearInterval(writing)
  say(t.gone, t.goneLead)
  document.title = t.gone
  main.replaceChildren(
    make(
      'div',
      { className: 'gone' },
      make('h1', { textContent: t.gone }),
      make('p', { textContent: t.goneLead }),
    ),
  )
}

const writing = setInterval(write, WRITTEN_EVERY_MS)
const token = decodeURIComponent(location.pathname.split('/')[2] as string)
const findWords = createPlaceWords(token, words => {
  where.textContent = words
  where.hidden = words === ''
  write()
})
followLink(token, {
  onTracked({ name, position, trail, expiresAt }) {
    isKnown = true
    showName(name)
    until.textContent = t.until(format.dateTime(expiresAt))
    map.setTrail(trail)
    if (position) place(position, false)
    write()
  },
  onName(name) {
    showName(name)
    write()
  },
  onPoint: point => place(point, true),
  onTrailMinutes(minutes) {
    trailMs = minutes * MINUTE_MS
  },
  onHeard(now) {
    heard = now
    note.textContent = now === 'lost' ? errors.unreachable : now === 'busy' ? errors.busy : ''
    note.hidden = note.textContent === ''
    write()
  },
  onGone: showGone,
})
