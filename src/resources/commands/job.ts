import { expireCommands } from '../../../db/queries/commands.ts'
import { doublingBackoff, type JobKind } from '../../jobs/kind.ts'

const EVERY_MS = 2_000
/** 20,000 commands in one run; the next run goes on. */
const MAX_STEPS = 40

/**
 * Ends commands whose time is over, and tells webhooks and watchers. Nothing depends on its pace: handing over and answering
 * look at the time themselves.
 */
export const commandJob: JobKind = {
  kind: 'command-expiry',
  slots: 1,
  slotsPerRoot: 1,
  attempts: 20,
  backoffMs: doublingBackoff,
  timeoutMs: 60_000,
  everyMs: EVERY_MS,
  async run({ commit }) {
    for (let left = MAX_STEPS; left > 0 && (await commit(expireCommands)); left--);
    // It runs so often that its finished jobs would fill the table.
    await commit(tx => tx.query(`DELETE FROM jobs WHERE kind = 'command-expiry' AND status = 'done'`))
  },
}
