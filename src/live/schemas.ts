import { z } from 'zod'

const degrees = (most: number) => z.number().min(-most).max(most)

/** What a screen sends. */
export const clientMessage = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('subscribe'),
    filter: z
      .strictObject({
        subjectIds: z.array(z.string()).max(10_000).optional(),
        hubIds: z.array(z.string()).max(1_000).optional(),
        teamIds: z.array(z.string()).max(1_000).optional(),
        bbox: z.tuple([degrees(180), degrees(90), degrees(180), degrees(90)]).optional(),
      })
      .nullish(),
    since: z.string().max(4_096).nullish(),
  }),
  z.object({ type: z.literal('unsubscribe') }),
])
