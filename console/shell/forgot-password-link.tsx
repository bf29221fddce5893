import { Link } from 'react-router'
import { forgottenTexts as de } from '../texts/de/forgotten.ts'
import { forgottenTexts as en } from '../texts/en/forgotten.ts'
import { useOwnTexts } from '../texts/texts.tsx'
import { urls } from '../urls.ts'

const TEXTS = { en, de }

/** The way to a new password, on a server that can mail it. */
export default function ForgotPasswordLink() {
  return <Link to={urls.forgotPassword}>{useOwnTexts(TEXTS).link}</Link>
}
