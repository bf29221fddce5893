import type { Standing } from './standing.ts'

/** How a task stands, as a shape: colours alone do not tell red from amber for everybody. */
const SHAPES: Record<Standing, string> = {
  planned: 'M8 13A5 5 0 1 0 8 3a5 5 0 0 0 0 10z',
  running: 'M5 3l8 5-8 5z',
  risk: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 5v3.300l2.200 1.500',
  late: 'M8 1.800 14.500 13.500h-13zM8 6.300v3.400M8 11.400v.4',
  done: 'M3 8.500 6.500 12 13 4.500',
  failed: 'M3.500 3.500l9 9M12.500 3.500l-9 9',
  cancelled: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM3.800 12.200l8.400-8.400',
}
/** A moon: nobody works then. */
const OUTSIDE = 'M13.500 9.600A6 6 0 0 1 6.400 2.500a6 6 0 1 0 7.100 7.100z'

export function StandingMark({ standing, isOutside }: { standing: Standing; isOutside: boolean }) {
  return (
    <>
      <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
        <path d={SHAPES[standing]} />
      </svg>
      {isOutside && (
        <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
          <path d={OUTSIDE} />
        </svg>
      )}
    </>
  )
}
