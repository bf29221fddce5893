/** A choice of a profile that makes no sense. */
export class ProfileFault extends Error {
  /** Where it stands in the profile: `['fields', 'lat', 'from', 0]`. */
  readonly where: readonly (string | number)[]
  constructor(where: readonly (string | number)[], message: string) {
    super(message)
    this.where = where
  }
}
