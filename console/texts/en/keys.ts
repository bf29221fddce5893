/** The texts of the list of keys, which are loaded with it. */
export const keyTexts = {
  title: 'Keyboard',
  palette: 'Search everything, go anywhere',
  search: 'Search on this page',
  next: 'Next on the live map',
  previous: 'Previous on the live map',
  follow: 'Follow, or stop following',
  assign: 'Assign the selected tasks',
  newTask: 'New task, on the page of tasks',
  close: 'Close',
  help: 'These keys',
  single: 'Single keys work outside of fields',
}

export type KeyTexts = typeof keyTexts
