import { z } from 'zod'
import { failures } from '../../http/envelope.ts'
import { operation } from '../../http/operation.ts'
import { email, newPassword, personName, signedIn } from '../auth/schemas.ts'
import { hubFields, organizationName } from '../organizations/schemas.ts'

export const register = operation({
  access: 'public',
  tags: ['Accounts'],
  summary: 'Register an account with an organization of its own',
  description: `Open where the service runs with \`ALLOW_SIGNUP=true\`. The account becomes the owner. An address
that is registered is 409, unless its account is active in no organization any more and \`password\` is its own: then it
goes on with it.`,
  body: z.strictObject({ name: personName, email, password: newPassword, organizationName, ...hubFields }),
  response: { 201: signedIn, ...failures(403, 409) },
})
