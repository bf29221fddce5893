import type { MailTexts } from './texts.ts'

export const en: MailTexts = {
  copy: 'If the button does not work, open this address:',
  footer: server => `This mail was sent by ${server}. Nobody reads replies to it.`,
  invitation: ({ organization, role, inviter, days }) => ({
    subject: `Invitation to ${organization}`,
    before: [
      inviter === null
        ? `You are invited to join “${organization}” on Fieldline as ${role}.`
        : `${inviter} invites you to join “${organization}” on Fieldline as ${role}.`,
    ],
    action: 'Join',
    after: [
      `The link works once, for ${days} days. Whoever has it can join in your place, so do not pass it on.`,
      'If you do not know what this is about, ignore this mail: nothing happens without you.',
    ],
  }),
  passwordReset: ({ email, minutes }) => ({
    subject: 'Choose a new password',
    before: [`Somebody asked for a new password for ${email}.`],
    action: 'Choose a new password',
    after: [
      `The link works once, for ${minutes} minutes after this mail was sent.`,
      'If that was not you, ignore this mail: your password stays as it is. Do not pass the link on.',
    ],
  }),
}
