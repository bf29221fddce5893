import { connectionTexts as de } from '../../texts/de/connections.ts'
import { connectionTexts as en } from '../../texts/en/connections.ts'
import { useOwnTexts } from '../../texts/texts.tsx'

const TEXTS = { en, de }
export const useConnectionTexts = () => useOwnTexts(TEXTS)
