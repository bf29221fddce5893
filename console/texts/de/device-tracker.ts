import type { DeviceTrackerTexts } from '../en/device-tracker.ts'

export const deviceTrackerTexts: DeviceTrackerTexts = {
  profile: 'Profil',
  ownTopics: 'Keins: eigene Topics von Fieldline und Apps',
  references: 'Referenzen',
  referencesHint:
    'Wie andere es nennen, etwa eine IMEI oder eine DevEUI. Durch Kommas getrennt, höchstens 8.',
}
