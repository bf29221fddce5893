/** The texts of the current task in the panel of a subject, loaded with it. */
export const subjectWorkTexts = {
  underWay: 'Task under way',
  next: (time: string) => `Next task at ${time}`,
}
