import { answered, api } from '../../../api/client.ts'

/** The key of the query that reads the organization. */
export const ORGANIZATION = ['organization']

export const readOrganization = async () => (await answered(api.GET('/api/v3/organization'))).data

export type Organization = Awaited<ReturnType<typeof readOrganization>>
