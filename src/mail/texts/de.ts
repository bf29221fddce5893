import type { MailTexts } from './texts.ts'

export const de: MailTexts = {
  copy: 'Falls die Schaltfläche nicht funktioniert, öffnen Sie diese Adresse:',
  footer: server => `Diese E-Mail kommt von ${server}. Antworten darauf liest niemand.`,
  invitation: ({ organization, role, inviter, days }) => ({
    subject: `Einladung zu ${organization}`,
    before: [
      inviter === null
        ? `Sie sind eingeladen, in „${organization}“ bei Fieldline mitzuarbeiten, als ${role}.`
        : `${inviter} lädt Sie ein, in „${organization}“ bei Fieldline mitzuarbeiten, als ${role}.`,
    ],
    action: 'Beitreten',
    after: [
      `Der Link gilt einmal und ${days} Tage lang. Wer ihn hat, kann an Ihrer Stelle beitreten: Geben Sie ihn nicht weiter.`,
      'Wenn Sie damit nichts anfangen können, ignorieren Sie diese E-Mail: Ohne Sie geschieht nichts.',
    ],
  }),
  passwordReset: ({ email, minutes }) => ({
    subject: 'Neues Passwort wählen',
    before: [`Für ${email} wurde ein neues Passwort angefordert.`],
    action: 'Neues Passwort wählen',
    after: [
      `Der Link gilt einmal, ${minutes} Minuten lang ab dem Versand dieser E-Mail.`,
      'Wenn Sie das nicht waren, ignorieren Sie diese E-Mail: Ihr Passwort bleibt, wie es ist. Geben Sie den Link nicht weiter.',
    ],
  }),
}
