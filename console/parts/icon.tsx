/** Drawn on a square of 16, in the colour of the text. */
export const PATHS = {
  map: 'M2 4.2 6 2.5l4 1.7 4-1.7v9.3l-4 1.7-4-1.7-4 1.7zM6 2.5v9.3M10 4.2v9.3',
  device: 'M5 1.5h6a1 1 0 0 1 1 1v11a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1v-11a1 1 0 0 1 1-1zM7 12.2h2',
  vehicle:
    'M1.5 11V4.5h8V11M9.500 6.500h3l2 2.500v2h-1.500M1.500 11h1M6.500 11h4M4.500 12.500a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3zM12 12.500a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3z',
  team: 'M6 7.500a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5zM1.500 13.500c.3-2.500 2-4 4.500-4s4.200 1.500 4.500 4M10.500 2.800a2.300 2.300 0 0 1 0 4.400M12 9.800c1.500.5 2.300 1.800 2.500 3.700',
  hub: 'M2 14V6.500L8 2.500l6 4V14M6 14v-4.500h4V14M1 14h14',
  link: 'M6.500 9.500 9.500 6.500M7 4.500l1.600-1.600a3 3 0 0 1 4.300 4.300L11.500 9M9 11.500l-1.600 1.600a3 3 0 0 1-4.300-4.300L4.500 7',
  rejected: 'M8 1.800 14.500 13.500h-13zM8 6.300v3.400M8 11.400v.4',
  code: 'M5.500 4.500 2 8l3.500 3.500M10.500 4.500 14 8l-3.500 3.500',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.700 10.700 14 14',
  close: 'M3.500 3.500l9 9M12.500 3.500l-9 9',
  copy: 'M5.500 5.500h8v8h-8zM10.500 5.500v-3h-8v8h3',
  check: 'M3 8.500 6.500 12 13 4.500',
  share: 'M8 10V2M5 4.500 8 1.700l3 2.800M3 8v5.500h10V8',
  follow:
    'M8 3v2.500M8 10.500V13M3 8h2.500M10.500 8H13M8 12.500a4.500 4.500 0 1 0 0-9 4.500 4.500 0 0 0 0 9z',
  plus: 'M8 3v10M3 8h10',
  minus: 'M3 8h10',
  all: 'M2.500 6V2.500H6M10 2.500h3.500V6M13.500 10v3.500H10M6 13.500H2.500V10',
  list: 'M5.500 4h8M5.500 8h8M5.500 12h8M2.500 4h.2M2.500 8h.2M2.500 12h.2',
  down: 'M4 6.500 8 10.500l4-4',
  more: 'M3.500 8h.1M8 8h.1M12.500 8h.1',
  user: 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.500 14c.4-3 2.400-4.500 5.500-4.500s5.100 1.500 5.500 4.500',
  battery: 'M1.500 5h11v6h-11zM14.500 7v2M3.500 7v2M5.500 7v2M7.500 7v2',
  play: 'M5 3l8 5-8 5z',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 5v3.300l2.200 1.500',
  theme: 'M13.500 9.600A6 6 0 0 1 6.400 2.500a6 6 0 1 0 7.100 7.100z',
  language:
    'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM2 8h12M8 2c2 1.700 3 3.700 3 6s-1 4.300-3 6c-2-1.700-3-3.700-3-6s1-4.300 3-6z',
  ruler: 'M1.500 5.500h13v5h-13zM4.500 5.500v2M7 5.500v2.500M9.500 5.500v2M12 5.500v2.500',
  leave: 'M6 2.500H2.500v11H6M10.500 11l3-3-3-3M13.500 8H6',
  fence: 'M8 2.200 13.700 6.300 11.500 13H4.500L2.300 6.300zM8 8h.1',
  area: 'M3 3h2M7 3h2M11 3h2v2M13 7v2M13 11v2h-2M9 13H7M5 13H3v-2M3 9V7M3 5V3',
  draw: 'M3 13l.700-3L10.500 3.200l2.300 2.300L6 12.300zM9 4.700 11.300 7',
  pause: 'M5.500 3.500v9M10.500 3.500v9',
  skip: 'M4 3.500l6 4.500-6 4.500zM12 3.500v9',
  calendar: 'M2.500 4h11v9.500h-11zM2.500 7h11M5.500 2v3M10.500 2v3',
  history: 'M2.500 8a5.500 5.500 0 1 0 1.700-4M2.500 2.500V5h2.700M8 5v3.200l2.200 1.300',
  back: 'M9.500 4 5.500 8l4 4',
  next: 'M6.500 4l4 4-4 4',
  undo: 'M6 3.500 3 6.500l3 3M3 6.500h6.500a3.500 3.500 0 0 1 0 7H7',
  redo: 'M10 3.500l3 3-3 3M13 6.500H6.500a3.500 3.500 0 0 0 0 7H9',
  download: 'M8 2v8M4.800 7 8 10.200 11.200 7M3 13.500h10',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}

/** The state of a subject as a shape: what the map shows too. */
export function StateMark({ state }: { state: 'moving' | 'idle' | 'offline' }) {
  return (
    <svg className={`mark ${state}`} viewBox="0 0 16 16" aria-hidden="true">
      {state === 'moving' && <path d="M8 1.500 13.500 14 8 11.300 2.500 14z" />}
      {state === 'idle' && <circle cx="8" cy="8" r="4.500" />}
      {state === 'offline' && <circle className="ring" cx="8" cy="8" r="4.200" />}
    </svg>
  )
}
