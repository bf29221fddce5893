import type { VehiclePlanTexts } from '../en/vehicle-plan.ts'

export const vehiclePlanTexts: VehiclePlanTexts = {
  title: 'Tourenplanung',
  weight: 'Nutzlast (kg)',
  volume: 'Volumen (m³)',
  units: 'Stück',
  speed: unit => `Durchschnittstempo (${unit})`,
  maxStops: 'Höchstens Stopps',
  maxDistance: unit => `Tour höchstens (${unit})`,
  maxDuration: 'Tour höchstens (Stunden)',
  skills: 'Fähigkeiten',
  hours: 'Arbeitszeiten',
  noHours: 'frei',
  copyMonday: 'Zeiten vom Montag bis Freitag',
  badHours: 'Zeiten als 08:00–17:00 schreiben, oder 8–12, 13–17.',
  long: { metric: 'km', imperial: 'mi' },
}
