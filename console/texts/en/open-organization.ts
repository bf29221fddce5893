/** The texts of an address of another organization, loaded when one is opened. */
export const openOrganizationTexts = {
  opening: 'Opening the organization of this address…',
  noMember: 'You are no member of this organization.',
  askForInvitation:
    'The address belongs to an organization in which your account is not active. Somebody there can invite you.',
  toOwn: 'Go to your organization',
  asAnother: 'Sign in with another account',
  signInElsewhere: 'Press the button again to open your own organization.',
}
