import { ActionButton, Field } from '../../parts/parts.tsx'
import { vehiclePlanTexts as de } from '../../texts/de/vehicle-plan.ts'
import { vehiclePlanTexts as en } from '../../texts/en/vehicle-plan.ts'
import { useFormat, useLocale, useOwnTexts } from '../../texts/texts.tsx'
import { type PlanDraft, WEEKDAYS } from './vehicle-plan.ts'

const TEXTS = { en, de }
export const useVehiclePlanTexts = () => useOwnTexts(TEXTS)

/** A Monday; the days after it are the others. */
const MONDAY = Date.UTC(2026, 0, 5, 12)
const DAY_MS = 86_400_000

interface Props {
  value: PlanDraft
  /** Sets a part of the draft to a value of that part's type. */
  set: (part: keyof PlanDraft) => (value: never) => void
}

/** The fields of a vehicle that a route planner needs. */
export function VehiclePlanFields({ value, set }: Props) {
  const t = useVehiclePlanTexts()
  const format = useFormat()
  const weekday = new Intl.DateTimeFormat(useLocale(), { weekday: 'short', timeZone: 'UTC' })
  const { workingHours } = value
  const change = <Part extends keyof PlanDraft>(part: Part, to: PlanDraft[Part]) => set(part)(to as never)
  const group = (name: 'capacity' | 'constraints', field: string) => ({
    name: `${name}.${field}`,
    value: (value[name] as Record<string, string>)[field] ?? '',
    onChange: (text: string) => change(name, { ...value[name], [field]: text }),
    inputMode: 'decimal' as const,
  })
  const long = t.long[format.units]
  return (
    <details className="more-fields" open={isUsed(value) || undefined}>
      <summary>{t.title}</summary>
      <div className="stack">
        <div className="three">
          <Field label={t.weight} {...group('capacity', 'weight')} />
          <Field label={t.volume} {...group('capacity', 'volume')} />
          <Field label={t.units} {...group('capacity', 'units')} />
        </div>
        <div className="two">
          <Field
            label={t.speed(format.speedUnit)}
            name="speed"
            value={value.speed}
            onChange={speed => change('speed', speed)}
            inputMode="decimal"
          />
          <Field label={t.maxStops} {...group('constraints', 'maxStops')} />
        </div>
        <div className="two">
          <Field label={t.maxDistance(long)} {...group('constraints', 'maxDistance')} />
          <Field label={t.maxDuration} {...group('constraints', 'maxDuration')} />
        </div>
        <Field label={t.skills} {...group('constraints', 'skills')} inputMode="text" />
        <fieldset className="hours">
          <legend>{t.hours}</legend>
          {WEEKDAYS.map((day, index) => (
            <Field
              key={day}
              label={weekday.format(MONDAY + index * DAY_MS)}
              name={`workingHours.${day}`}
              placeholder={t.noHours}
              value={workingHours[day]}
              onChange={text => change('workingHours', { ...workingHours, [day]: text })}
            />
          ))}
          <ActionButton
            looks="quiet"
            isDisabled={workingHours.mon === ''}
            onPress={() => {
              const { mon } = workingHours
              change('workingHours', { ...workingHours, tue: mon, wed: mon, thu: mon, fri: mon })
            }}
          >
            {t.copyMonday}
          </ActionButton>
        </fieldset>
      </div>
    </details>
  )
}

/** Whether the form has anything to show there. */
const isUsed = ({ capacity, speed, workingHours, constraints }: PlanDraft): boolean =>
  [speed, ...[capacity, workingHours, constraints].flatMap(part => Object.values(part))].some(
    text => text !== '',
  )
