/** The texts of users, invitations and the own account, which are loaded with their pages. */
export const peopleTexts = {
  email: 'E-mail',
  role: 'Role',
  hubs: 'Hubs',
  hubsHint: 'Owners and admins work in every hub, whatever is chosen here.',
  everyHub: 'Every hub',
  status: 'Status',
  statuses: { active: 'Active', invited: 'Invited', suspended: 'Suspended' },
  lastActive: 'Last active',
  anyStatus: 'Every status',
  anyRole: 'Every role',
  self: 'This is you. Your password and your sessions are in your account.',
  toAccount: 'Your account',
  history: 'Changes by this user',
  suspend: 'Suspend',
  suspendAsk: (name: string) =>
    `Suspend ${name}? They are signed out everywhere at once. Nothing is deleted.`,
  activate: 'Activate',
  remove: (name: string) =>
    `Delete ${name} from this organization? Open tasks are unassigned. The history is kept, and so is the account in other organizations.`,
  renew: 'New invitation link',
  renewAsk: (name: string) => `Create a new link for ${name}? The previous one stops working.`,
  reset: 'Reset password',
  resetTitle: (name: string) => `New password for ${name}`,
  resetLead:
    'Pass it on yourself. It replaces the password in every organization of this person and signs them out everywhere. It is possible only for people whose account was created in this organization.',
  resetDone: (name: string) => `${name} now signs in with the new password.`,
  newPassword: 'New password',
  passwordHint: 'At least 10 characters.',
  invited: (name: string) => `Invitation for ${name}`,
  invitedLead: 'Pass this link on to them: whoever has it can join in their place.',
  link: 'Invitation link',
  validUntil: (time: string) => `It works once, until ${time}.`,
  renewMail: 'Mail again',
  renewMailAsk: (name: string) => `Mail ${name} a new link? The previous one stops working.`,
  mailed: (email: string) =>
    `A mail with the link is on its way to ${email}. Whether it arrives is shown with this person.`,
  mail: 'Invitation',
  mails: {
    waiting: 'The mail is on its way.',
    sent: 'The mail was handed over.',
    refused: 'The mail server refuses this address. Delete the user and invite the right one.',
    failed: 'The mail could not be handed over for a day.',
    open: 'Pass the link on yourself.',
  },
  accept: {
    title: 'Join an organization',
    to: (organization: string, role: string) => `You are invited to ${organization} as ${role}.`,
    known: 'You have an account already. Sign in with its password to join.',
    fresh: 'Choose a password, and you are in.',
    either: 'The password of your account, if you have one here. Otherwise choose one.',
    submit: 'Join',
    submitting: 'Joining…',
    wrong: 'This is not the password of your account.',
    gone: 'This invitation no longer works',
    goneLead: 'It has been used, replaced by a newer one, or it has expired. Ask for a new link.',
    toSignIn: 'Sign in',
    signedIn: (email: string) =>
      `You are signed in as ${email} in this browser. Joining replaces that session.`,
  },
}

export type PeopleTexts = typeof peopleTexts
