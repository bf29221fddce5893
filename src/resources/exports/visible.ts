import { ALL_HUBS } from '../../../db/hub-rule.ts'
import type { Caller } from '../../../db/queries/sessions.ts'

/** The user whose exports a caller sees: itself, or null for all as Owner or Admin, who work in every hub. */
export const visibleOf = ({ userId, hubIds }: Pick<Caller, 'userId' | 'hubIds'>): string | null =>
  hubIds === ALL_HUBS ? null : userId
