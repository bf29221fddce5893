import { scheduleTexts as de } from '../../texts/de/schedules.ts'
import { scheduleTexts as en } from '../../texts/en/schedules.ts'
import { useOwnTexts } from '../../texts/texts.tsx'

const TEXTS = { en, de }

export const useScheduleTexts = () => useOwnTexts(TEXTS)
