import { dataTexts as de } from '../../texts/de/data.ts'
import { dataTexts as en } from '../../texts/en/data.ts'
import { useOwnTexts } from '../../texts/texts.tsx'

const TEXTS = { en, de }

export const useDataTexts = () => useOwnTexts(TEXTS)
