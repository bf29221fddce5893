/** The texts of the board on which people are dragged between teams, loaded with it. */
export const teamBoardTexts = {
  open: 'Arrange members',
  back: 'All teams',
  lead: 'Drag people into teams and between them. By keyboard: Enter on a handle picks somebody up, Tab goes from team to team, Enter drops.',
  everybody: 'Everybody',
  handle: (name: string) => `Drag ${name}`,
  takeOut: (name: string, team: string) => `Take ${name} out of ${team}`,
  nobody: 'Nobody yet',
  noTeams: 'There are no teams yet.',
  moved: (name: string, from: string, to: string) => `${name} moved from ${from} to ${to}.`,
  added: (name: string, to: string) => `${name} is now in ${to}.`,
  removed: (name: string, from: string) => `${name} is no longer in ${from}.`,
}

export type TeamBoardTexts = typeof teamBoardTexts
