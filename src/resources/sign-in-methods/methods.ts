import type { Config } from '../../config.ts'

/** How people may sign in; the sign-in page knows it before anybody is signed in. */
export interface SignInMethods {
  /** False where passwords are closed for all but the first owner. */
  password: boolean
  /** Whether a link for a new password can be mailed. */
  forgotPassword: boolean
  /** The provider of single sign-on by its name. */
  oidc: { label: string } | null
  /** Whether anybody may create an organization. */
  signUp: boolean
}

export const signInMethods = ({
  mail,
  oidc,
  allowSignup,
}: Pick<Config, 'mail' | 'oidc' | 'allowSignup'>): SignInMethods => ({
  password: !oidc?.only,
  forgotPassword: mail !== undefined,
  oidc: oidc ? { label: oidc.label } : null,
  signUp: allowSignup,
})
