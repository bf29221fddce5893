import type { TeamBoardTexts } from '../en/team-board.ts'

/** The texts of the board on which people are dragged between teams, loaded with it. */
export const teamBoardTexts: TeamBoardTexts = {
  open: 'Mitglieder ordnen',
  back: 'Alle Teams',
  lead: 'Personen in Teams und zwischen ihnen ziehen. Mit der Tastatur: Eingabe auf einem Griff nimmt jemanden auf, Tab geht von Team zu Team, Eingabe legt ab.',
  everybody: 'Alle',
  handle: name => `${name} ziehen`,
  takeOut: (name, team) => `${name} aus ${team} nehmen`,
  nobody: 'Noch niemand',
  noTeams: 'Es gibt noch keine Teams.',
  moved: (name, from, to) => `${name} ist von ${from} zu ${to} gewechselt.`,
  added: (name, to) => `${name} ist jetzt in ${to}.`,
  removed: (name, from) => `${name} ist nicht mehr in ${from}.`,
}
