import type { registerTexts as en } from '../en/register.ts'

export const registerTexts: typeof en = {
  title: 'Organisation anlegen',
  lead: 'Sie werden ihr Inhaber. Laden Sie die anderen danach ein.',
  name: 'Ihr Name',
  email: 'E-Mail',
  password: 'Passwort',
  passwordHint: 'Mindestens 10 Zeichen.',
  organizationName: 'Name der Organisation',
  hubHint: 'Ein Standort ist, wo die Arbeit beginnt: ein Depot, ein Laden, ein Büro.',
  hubName: 'Name des ersten Standorts',
  lat: 'Breitengrad',
  lng: 'Längengrad',
  submit: 'Organisation anlegen',
  submitting: 'Wird angelegt …',
  closed:
    'Auf diesem Server kann nicht jeder eine Organisation anlegen. Bitten Sie den Betreiber um eine Einladung.',
  signIn: 'Stattdessen anmelden',
}
