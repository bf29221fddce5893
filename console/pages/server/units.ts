import { useMemo } from 'react'
import { useLocale } from '../../texts/texts.tsx'
import type { Unit } from './figures.ts'

const BYTES = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const

/** Writes a figure with its unit: 61,200, 40 ms, 8.1 GB. */
export function useUnits(): Record<Unit, (value: number) => string> {
  const locale = useLocale()
  return useMemo(() => {
    const plain = new Intl.NumberFormat(locale, { maximumSignificantDigits: 3 })
    const whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 })
    const withUnit = (unit: string, unitDisplay: 'short' | 'narrow' = 'short') =>
      new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay, maximumSignificantDigits: 3 })
    const [seconds, milliseconds] = [withUnit('second', 'narrow'), withUnit('millisecond')]
    const bytes = BYTES.map(unit => withUnit(unit))
    return {
      count: value => (value < 100 ? plain : whole).format(value),
      seconds: value => (value > 0 && value < 1 ? milliseconds.format(value * 1_000) : seconds.format(value)),
      bytes: value => {
        const at = value < 1 ? 0 : Math.min(BYTES.length - 1, Math.floor(Math.log10(value) / 3))
        return bytes[at]?.format(value / 1_000 ** at) ?? ''
      },
    }
  }, [locale])
}
