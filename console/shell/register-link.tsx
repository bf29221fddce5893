import { Link } from 'react-router'
import { registerTexts as de } from '../texts/de/register.ts'
import { registerTexts as en } from '../texts/en/register.ts'
import { useOwnTexts } from '../texts/texts.tsx'
import { urls } from '../urls.ts'

const TEXTS = { en, de }

export default function RegisterLink() {
  const t = useOwnTexts(TEXTS)
  return (
    <p>
      <Link to={urls.register}>{t.title}</Link>
    </p>
  )
}
