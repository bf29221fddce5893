import { bulkTexts as de } from '../../texts/de/bulk.ts'
import { bulkTexts as en } from '../../texts/en/bulk.ts'
import { useOwnTexts } from '../../texts/texts.tsx'

const TEXTS = { en, de }
export const useBulkTexts = () => useOwnTexts(TEXTS)
