import { useMemo, useState } from 'react'
import { Icon } from '../parts/icon.tsx'
import { keep, readKept } from '../storage.ts'
import { referenceTexts as t } from '../texts/reference.ts'
import { useTexts } from '../texts/texts.tsx'
import type { Operation } from './document.ts'
import { needsToken, prepare, takesKey, type Values } from './requests.ts'
import { LANGUAGES, type Language, writeSample } from './samples.ts'

const KEY = 'fieldline.samples'
const readLanguage = (): Language =>
  readKept(KEY, kept => LANGUAGES.find(one => one === kept.language) ?? null) ?? LANGUAGES[0]

/** The request as a program. The copied text has the whole token, the shown one only its beginning. */
export function SampleBox(props: { operation: Operation; values: Values; secret: string | null }) {
  const { operation, values, secret } = props
  const { copy } = useTexts()
  const [language, setLanguage] = useState(readLanguage)
  /** The number of copies: each has an Idempotency-Key of its own. */
  const [copies, setCopies] = useState(0)
  const [isCopied, setCopied] = useState(false)
  const placeholder = operation.permission === 'device' ? 'DEVICE_KEY' : 'TOKEN'
  const token = secret ?? placeholder
  // biome-ignore lint/correctness/useExhaustiveDependencies: another copy is another sample
  const sample = useMemo(() => {
    try {
      return writeSample(language, operation, prepare(operation, values, location.origin, token))
    } catch {
      return undefined
    }
  }, [language, operation, values, token, copies])
  const choose = (next: Language) => {
    keep(KEY, { language: next })
    setLanguage(next)
  }
  const copySample = async () => {
    await writeClipboard(sample ?? '')
    setCopied(true)
    setCopies(count => count + 1)
    setTimeout(() => setCopied(false), 2_000)
  }
  const shown = secret === null ? sample : sample?.replaceAll(secret, `${secret.slice(0, 6)}…`)
  return (
    <section className="sample" aria-label={t.sample}>
      <div className="sample-head">
        <fieldset className="switch">
          <legend className="unseen">{t.language}</legend>
          {LANGUAGES.map(one => (
            <button key={one} type="button" aria-pressed={one === language} onClick={() => choose(one)}>
              {one}
            </button>
          ))}
        </fieldset>
        {sample && (
          <button type="button" className="button quiet" onClick={() => void copySample()}>
            <Icon name={isCopied ? 'check' : 'copy'} />
            {isCopied ? copy.copied : copy.copy}
          </button>
        )}
      </div>
      {sample ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what is longer than its box is scrolled by keys
        <pre tabIndex={0}>
          <code>{shown}</code>
        </pre>
      ) : (
        <p className="hint sample-none">{sample === null ? t.noSample(language) : t.badJson}</p>
      )}
      {secret === null && needsToken(operation) && (
        <p className="hint sample-none">{takesKey(operation) ? t.enterKey(placeholder) : t.enterToken}</p>
      )}
    </section>
  )
}

/** Over plain HTTP there is no clipboard API. */
async function writeClipboard(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
  } catch {
    const area = document.createElement('textarea')
    area.value = text
    document.body.append(area)
    area.select()
    document.execCommand('copy')
    area.remove()
  }
}
