import { z } from 'zod'
import { failures } from '../../http/envelope.ts'
import { operation } from '../../http/operation.ts'
import { email, newPassword, personName, signedIn } from '../auth/schemas.ts'
import { hubFields, organizationName } from '../organizations/schemas.ts'
import { code } from '../second-factor/schemas.ts'

export const register = operation({
  access: 'public',
  tags: ['Accounts'],
  summary: 'Register an account with an organization of its own',
  description: `Open where the service runs with \`ALLOW_SIGNUP=true\`. The account becomes the owner. An address
that is registered is 409, unless its account is active in no organization any more and \`password\` is its own: then it
goes on with it, with a \`code\` if it has a second factor (else 401 with the code \`totp-required\`).`,
  body: z.strictObject({
    ...{ name: personName, email, password: newPassword, organizationName, ...hubFields },
    code: code.optional().describe('For an address that has an account with a second factor'),
  }),
  response: { 201: signedIn, ...failures(401, 403, 409) },
})
