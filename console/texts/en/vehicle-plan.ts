/** The texts of what a route planner needs of a vehicle, which are loaded with its form. */
export const vehiclePlanTexts = {
  title: 'Route planning',
  weight: 'Payload (kg)',
  volume: 'Volume (m³)',
  units: 'Pieces',
  speed: (unit: string) => `Average speed (${unit})`,
  maxStops: 'Stops at most',
  maxDistance: (unit: string) => `Route at most (${unit})`,
  maxDuration: 'Route at most (hours)',
  skills: 'Skills',
  hours: 'Working hours',
  noHours: 'off',
  copyMonday: 'Monday’s hours until Friday',
  badHours: 'Write hours as 08:00–17:00, or 8–12, 13–17.',
  long: { metric: 'km', imperial: 'mi' },
}

export type VehiclePlanTexts = typeof vehiclePlanTexts
