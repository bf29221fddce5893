import { isInVisibleHub } from '../../../db/hub-rule.ts'
import type { Command } from '../../../db/queries/commands.ts'
import type { Caller } from '../../../db/queries/sessions.ts'

/**
 * The message to a watcher about a command that has changed or was withdrawn, or null if the caller does not see its device.
 * `before` has the hub of the device of a withdrawn one, which is empty for none.
 */
export function presentCommandChange(
  { hubIds }: Pick<Caller, 'hubIds'>,
  commandId: string,
  found: { command: Command; hubId: string | null } | undefined,
  before: readonly string[],
) {
  if (found) return isInVisibleHub(found.hubId, hubIds) ? { type: 'command', command: found.command } : null
  if (!before.some(hubId => isInVisibleHub(hubId || null, hubIds))) return null
  return { type: 'command', deleted: true, command: { _id: commandId, deleted: true } }
}
