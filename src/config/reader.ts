import { accessSync, constants } from 'node:fs'
import { openSecretFile, type Secret } from '../../db/secret.ts'

export type Env = Readonly<Record<string, string | undefined>>

/** Reads variables by their kinds, and collects what is wrong with them. */
export interface Reader {
  readonly env: Env
  /** The names of the variables that were asked for. */
  readonly asked: ReadonlySet<string>
  /** One sentence for each variable that is wrong, without the values of secrets. */
  readonly problems: string[]
  /** Reports a change of a secret that does not count; `fault` is such as "is empty". */
  ignore(name: string, fault: string): void
  text(name: string, otherwise: string): string
  /** The parts between commas. */
  list(name: string): string[]
  port(name: string, otherwise: number): number
  count(name: string, otherwise: number, min?: number, max?: number): number
  flag(name: string): boolean
  choice<const T extends string>(name: string, values: readonly T[]): T | undefined
  /** The path of a file that can be read. */
  file(name: string): string | undefined
  /** The value of `name`, or the content of the file that `<name>_FILE` names. */
  secret(name: string): Secret | undefined
}

/** `onIgnored` gets a sentence for each new content of a secret's file that does not count. */
export function createReader(given: Env, onIgnored: (sentence: string) => void = () => {}): Reader {
  const asked = new Set<string>()
  const env = new Proxy(given, {
    get(target, name: string) {
      asked.add(name)
      return target[name]
    },
  })
  const problems: string[] = []
  const text = (name: string, otherwise: string) => env[name] ?? otherwise
  const ignore = (name: string, fault: string) =>
    onIgnored(`${name}_FILE names ${env[`${name}_FILE`]}, which ${fault} now: the last value stays`)
  return {
    env,
    asked,
    problems,
    ignore,
    text,
    list: name =>
      text(name, '')
        .split(',')
        .map(part => part.trim())
        .filter(part => part !== ''),
    port(name, otherwise) {
      const value = numberOf(env[name], otherwise)
      if (Number.isInteger(value) && value >= 0 && value <= 65_535) return value
      // Kubernetes gives every container of a namespace such variables for each service, here for one named "mqtt".
      const hint = env[name]?.startsWith('tcp://')
        ? ': in Kubernetes set enableServiceLinks: false, or rename the service'
        : ''
      problems.push(`${name} has to be a port from 0 to 65535, it is "${env[name]}"${hint}`)
      return otherwise
    },
    count(name, otherwise, min = 0, max = Number.MAX_SAFE_INTEGER) {
      const value = numberOf(env[name], otherwise)
      if (Number.isSafeInteger(value) && value >= min && value <= max) return value
      const upTo = max === Number.MAX_SAFE_INTEGER ? '' : ` to ${max}`
      problems.push(`${name} has to be a whole number from ${min}${upTo}, it is "${env[name]}"`)
      return otherwise
    },
    flag(name) {
      const value = text(name, 'false')
      if (value !== 'true' && value !== 'false')
        problems.push(`${name} has to be true or false, it is "${value}"`)
      return value === 'true'
    },
    choice(name, values) {
      const value = env[name]
      const found = values.find(one => one === value)
      if (value !== undefined && !found)
        problems.push(`${name} has to be one of ${values.join(', ')}, it is "${value}"`)
      return found
    },
    file(name) {
      const path = env[name]
      const fault = path === undefined ? null : faultOf(path)
      if (fault) problems.push(`${name} names ${path}, which cannot be read (${fault})`)
      return path
    },
    secret(name) {
      const [value, path] = [env[name], env[`${name}_FILE`]]
      if (path === undefined) return value === undefined ? undefined : { current: value }
      if (value !== undefined) problems.push(`${name} and ${name}_FILE are both set: set one of them`)
      try {
        const secret = openSecretFile(path, fault => ignore(name, fault))
        if (secret.current !== '') return secret
        problems.push(`${name}_FILE names ${path}, which is empty`)
      } catch (error) {
        problems.push(`${name}_FILE names ${path}, which cannot be read (${(error as Error).message})`)
      }
      return undefined
    },
  }
}

/** A blank text is no number, though JavaScript takes it for 0, which switches limits off. */
function numberOf(text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise
  return text.trim() === '' ? Number.NaN : Number(text)
}

function faultOf(path: string): string | null {
  try {
    accessSync(path, constants.R_OK)
    return null
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error)
  }
}
