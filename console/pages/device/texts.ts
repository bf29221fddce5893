import { deviceTexts as de } from '../../texts/de/device.ts'
import { deviceTexts as en } from '../../texts/en/device.ts'
import { useOwnTexts } from '../../texts/texts.tsx'

const TEXTS = { en, de }
export const useDeviceTexts = () => useOwnTexts(TEXTS)
