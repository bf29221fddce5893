/** The group moves partitions, or has given ours to another member: kafkajs has to join again. */
export function isRebalancing(error: unknown): boolean {
  const { type } = (error ?? {}) as { type?: string }
  return (
    type === 'REBALANCE_IN_PROGRESS' ||
    type === 'ILLEGAL_GENERATION' ||
    type === 'UNKNOWN_MEMBER_ID' ||
    type === 'NOT_COORDINATOR_FOR_GROUP'
  )
}
