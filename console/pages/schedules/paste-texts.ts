import { pasteTexts as de } from '../../texts/de/paste.ts'
import { pasteTexts as en } from '../../texts/en/paste.ts'
import { useOwnTexts } from '../../texts/texts.tsx'

const TEXTS = { en, de }

export const usePasteTexts = () => useOwnTexts(TEXTS)
