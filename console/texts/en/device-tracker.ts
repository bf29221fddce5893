/** The texts of a device that is a tracker with a format of its own, which are loaded with its form. */
export const deviceTrackerTexts = {
  profile: 'Profile',
  ownTopics: 'None: Fieldline’s own topics and apps',
  references: 'References',
  referencesHint: 'What others call it, such as an IMEI or a DevEUI. Separated by commas, at most 8.',
}

export type DeviceTrackerTexts = typeof deviceTrackerTexts
