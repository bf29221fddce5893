const NUMBER = /-?\d+(?:\.\d+)?/g

/** A sentence of the server by a list in which each number is a `#`. Undefined is one that is not in it. */
export function translate(sentence: string, list: Readonly<Record<string, string>>): string | undefined {
  // Of a corner among many: "2: This has to be a number."
  const [, which = '', said = ''] = /^(\d+: )?(.*)$/s.exec(sentence) ?? []
  const numbers = said.match(NUMBER) ?? []
  const found = list[said.replace(NUMBER, '#')]
  return found && which + found.replace(/#/g, () => numbers.shift() ?? '')
}
