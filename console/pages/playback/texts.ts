import { playbackTexts as de } from '../../texts/de/playback.ts'
import { playbackTexts as en } from '../../texts/en/playback.ts'
import { useOwnTexts } from '../../texts/texts.tsx'

const TEXTS = { en, de }

export const usePlaybackTexts = () => useOwnTexts(TEXTS)
