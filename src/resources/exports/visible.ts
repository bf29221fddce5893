import type { Caller } from '../../../db/queries/sessions.ts'

/** Whose exports a caller sees: the own ones, or those of all as Owner or Admin, who work in every hub. */
export const visibleOf = ({ userId, hubIds }: Pick<Caller, 'userId' | 'hubIds'>): string | null =>
  hubIds === null ? null : userId
