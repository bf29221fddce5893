const DAY_MS = 24 * 3600_000
const state = { days: 365 }

/** How long points are stored; ingest rejects older ones. One process has one retention, whoever asks. */
export const retentionMs = (): number => state.days * DAY_MS

export const retentionDays = (): number => state.days

export function setRetention(days: number): void {
  state.days = days
}
