/** The texts of the filters of tables, and of what is done with several records at once. */
export const bulkTexts = {
  choose: (name: string) => `Choose ${name}`,
  chooseAll: 'Choose all that are shown',
  chosen: (count: number, text: string) => (count === 1 ? '1 chosen' : `${text} chosen`),
  bar: 'The chosen ones',
  hub: 'Change hub',
  noHub: 'No hub',
  clear: 'Clear choice',
  deleteAsk: (count: number, text: string, names: string) =>
    count === 1 ? `Delete ${names}?` : `Delete these ${text}: ${names}? This can’t be undone.`,
  andMore: (names: string, more: string) => `${names} and ${more} more`,
  moved: (count: number, text: string, hub: string) =>
    count === 1 ? `1 moved to ${hub}.` : `${text} moved to ${hub}.`,
  taken: (count: number, text: string) =>
    count === 1 ? '1 taken out of its hub.' : `${text} taken out of their hubs.`,
  failed: (count: number, text: string) =>
    count === 1
      ? '1 could not be changed, and is still chosen.'
      : `${text} could not be changed, and are still chosen.`,
  all: (what: string) => `${what}: all`,
  resetFilters: 'Reset filters',
}

export type BulkTexts = typeof bulkTexts
