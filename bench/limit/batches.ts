/** Points like those of the load generators, generated as columns without a service in between. */
export interface Batch {
  subject: number[]
  /** Milliseconds since 1970. */
  recordedAt: number[]
  receivedAt: number[]
  lat: number[]
  lng: number[]
  speed: number[]
  heading: number[]
  accuracy: number[]
  battery: number[]
}

const SUBJECTS = 100
const STEP_MS = 1000

/**
 * The batches of one of several connections. Each connection has its own subjects, like a partition of the log. A batch
 * holds the same number of points for each, sorted by subject and time.
 */
export function createBatches(connection: number, connections: number, rows: number): () => Batch {
  const subjects = Array.from({ length: SUBJECTS }, (_, index) => index + 1).filter(
    subject => subject % connections === connection,
  )
  const each = Math.max(1, Math.round(rows / subjects.length))
  let time = Math.floor(Date.now() / STEP_MS) * STEP_MS - 30 * 24 * 3600_000
  return () => {
    const batch: Batch = {
      subject: [],
      recordedAt: [],
      receivedAt: [],
      lat: [],
      lng: [],
      speed: [],
      heading: [],
      accuracy: [],
      battery: [],
    }
    const receivedAt = Date.now()
    for (const subject of subjects) {
      for (let index = 0; index < each; index++) {
        const recordedAt = time + index * STEP_MS
        batch.subject.push(subject)
        batch.recordedAt.push(recordedAt)
        batch.receivedAt.push(receivedAt)
        batch.lat.push(52.52 + ((recordedAt / STEP_MS) % 10_000) * 1e-7)
        batch.lng.push(13.404954)
        batch.speed.push(12.25)
        batch.heading.push(270.5)
        batch.accuracy.push(5.5)
        batch.battery.push(87)
      }
    }
    time += each * STEP_MS
    return batch
  }
}
