/** The texts of the page that creates an account with an organization, loaded with it. */
export const registerTexts = {
  title: 'Create an organization',
  lead: 'You become its owner. Invite the others afterwards.',
  name: 'Your name',
  email: 'E-mail',
  password: 'Password',
  passwordHint: 'At least 10 characters.',
  organizationName: 'Name of the organization',
  hubHint: 'A hub is where work begins: a depot, a shop, an office.',
  hubName: 'Name of the first hub',
  lat: 'Latitude',
  lng: 'Longitude',
  submit: 'Create organization',
  submitting: 'Creating…',
  closed: 'This server does not let anybody create an organization. Ask its operator for an invitation.',
  signIn: 'Sign in instead',
}
