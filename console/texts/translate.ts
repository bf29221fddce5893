import { isolate } from './isolate.ts'

const NUMBER = /-?\d+(?:\.\d+)?/g

type List = Readonly<Record<string, string>>

/**
 * Translates a sentence of the server. In the list a `#` stands for each number, and a `$` for a name. Undefined when the
 * list does not have the sentence.
 */
export function translate(sentence: string, list: List): string | undefined {
  // A sentence about one corner of many: "2: This has to be a number."
  const [, which = '', rest = ''] = /^(\d+: )?(.*)$/s.exec(sentence) ?? []
  const numbers = rest.match(NUMBER) ?? []
  const found = list[rest.replace(NUMBER, '#')]
  if (found) return which + found.replace(/#/g, () => numbers.shift() ?? '')
  return nameIn(sentence, list)
}

/** A name may be any text: it is the part between the words before and after it. */
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
