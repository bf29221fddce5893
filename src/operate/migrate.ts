import { prepareSchema } from '../schema.ts'
import { operate } from './command.ts'

// `npm run migrate`: brings the database up to date and ends. A server does the same at its start; this is for those who
// want it done before the first new process starts (docs/upgrade.md).
await operate('migrate', async ({ db, logger }) => {
  const { applied } = await prepareSchema(db, logger)
  return applied.length === 0 ? 'The schema is up to date.' : `Applied ${applied.join(', ')}.`
})
