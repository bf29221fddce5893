const tasks = (count: number, text: string) => (count === 1 ? '1 task' : `${text} tasks`)

/** The texts of the dialog that copies a day, loaded with it. */
export const dayCopyTexts = {
  title: (day: string) => `Copy the tasks of ${day}`,
  to: 'To the day',
  withPeople: 'Keep the people and vehicles',
  preview: (count: number, text: string, day: string) =>
    `${tasks(count, text)} will be created on ${day}, without statuses and results.`,
  leftOut: (count: number, text: string) =>
    count === 1 ? '1 cancelled task is left out.' : `${text} cancelled tasks are left out.`,
  tooMany: (text: string) => `The first ${text} are copied. Choose a team to copy the others.`,
  there: (count: number, text: string, day: string) => `${day} has ${tasks(count, text)} already. They stay.`,
  windows: (zone: string) => `Times of day stay the same in ${zone}, also when the clocks change in between.`,
  progress: (done: string, all: string) => `${done} of ${all} are copied.`,
  copied: (count: number, text: string, day: string) =>
    `${tasks(count, text)} ${count === 1 ? 'was' : 'were'} copied to ${day}.`,
  notAll: 'Not every task could be copied:',
  copy: (count: number, text: string) => `Copy ${tasks(count, text)}`,
  again: 'Copy the remaining ones',
}
