import { serverTexts as de } from '../../texts/de/server.ts'
import { serverTexts as en } from '../../texts/en/server.ts'
import { useOwnTexts } from '../../texts/texts.tsx'

const TEXTS = { en, de }

export const useServerTexts = () => useOwnTexts(TEXTS)
