/** Why a file cannot be imported, in a sentence that a person can act on. */
export class FileError extends Error {
  readonly reason: 'unsupported' | 'unimportable' | 'too-large'

  constructor(reason: FileError['reason'], message: string) {
    super(message)
    this.reason = reason
  }
}

export const unsupported = (message: string) => new FileError('unsupported', message)
export const unimportable = (message: string) => new FileError('unimportable', message)
export const tooLarge = (message: string) => new FileError('too-large', message)
