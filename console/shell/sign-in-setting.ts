import type { components } from '../api/interface.d.ts'

type SignInMethods = components['schemas']['SignInMethods']

/** How people may sign in, as the server says it in the page. */
export function readSignInMethods(): SignInMethods {
  const content = document.querySelector<HTMLMetaElement>('meta[name="sign-in"]')?.content ?? ''
  return content.startsWith('{')
    ? (JSON.parse(content) as SignInMethods)
    : { password: true, forgotPassword: false, oidc: null, signUp: false }
}
