import { isolate } from './isolate.ts'

const NUMBER = /-?\d+(?:\.\d+)?/g

type List = Readonly<Record<string, string>>

/** A sentence of the server by a list in which each number is a `#`, and a name a `$`. Undefined is one that is not in it. */
export function translate(sentence: string, list: List): string | undefined {
  // Of a corner among many: "2: This has to be a number."
  const [, which = '', said = ''] = /^(\d+: )?(.*)$/s.exec(sentence) ?? []
  const numbers = said.match(NUMBER) ?? []
  const found = list[said.replace(NUMBER, '#')]
  if (found) return which + found.replace(/#/g, () => numbers.shift() ?? '')
  return nameIn(sentence, list)
}

/** A name may be anything, so it is what stands between the words before and after it. */
function nameIn(sentence: string, list: List): string | undefined {
  for (const [pattern, translated] of Object.entries(list)) {
    const [before = '', after] = pattern.split('$')
    if (after === undefined || sentence.length <= before.length + after.length) continue
    if (!sentence.startsWith(before) || !sentence.endsWith(after)) continue
    const name = sentence.slice(before.length, sentence.length - after.length)
    return translated.replace('$', () => isolate(name))
  }
  return undefined
}
