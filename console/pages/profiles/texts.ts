import { profileTexts as de } from '../../texts/de/profiles.ts'
import { profileTexts as en } from '../../texts/en/profiles.ts'
import { useOwnTexts } from '../../texts/texts.tsx'

const TEXTS = { en, de }
export const useProfileTexts = () => useOwnTexts(TEXTS)
