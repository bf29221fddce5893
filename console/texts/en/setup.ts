/** The texts of the dialog that sets up a device, which are loaded with it. */
export const setupTexts = {
  title: (name: string) => `Set up ${name}`,
  app: 'App',
  enter: (app: string) => `Enter this in ${app}`,
  outOfReach: (host: string) =>
    `Phones can’t reach ${host}, which is this machine only. Open the console under this machine’s network address; for that, start the server with HOST=0.0.0.0.`,
  scan: 'Or scan with your phone',
  open: 'Open on this phone',
  key: 'The key is only shown once. Copy it now. If you lose it, replace it with “New key”.',
  noKey: 'Replace DEVICE_KEY with the device’s key, which was shown when it was created.',
  empty: '(leave empty)',
  command: 'In a terminal',
  waiting: 'Waiting for the first position…',
  arrived: (time: string) => `First position received at ${time}`,
}

export type SetupTexts = typeof setupTexts
