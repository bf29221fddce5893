import { importTexts as de } from '../../texts/de/imports.ts'
import { importTexts as en } from '../../texts/en/imports.ts'
import { useOwnTexts } from '../../texts/texts.tsx'

const TEXTS = { en, de }

export const useImportTexts = () => useOwnTexts(TEXTS)
