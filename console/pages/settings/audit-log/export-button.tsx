import { useEffect, useRef, useState } from 'react'
import { serverNow } from '../../../clock.ts'
import { ActionButton, Trouble } from '../../../parts/parts.tsx'
import { saveFile } from '../../../parts/save-file.ts'
import { auditTexts as de } from '../../../texts/de/audit-log.ts'
import { auditTexts as en } from '../../../texts/en/audit-log.ts'
import { useFormat, useOwnTexts } from '../../../texts/texts.tsx'
import { exportEntries } from './csv.ts'
import type { Asked } from './entries.ts'

const TEXTS = { en, de }

/** Saves every change of the selection as CSV. */
export function ExportButton({ asked }: { asked: Asked }) {
  const t = useOwnTexts(TEXTS)
  const format = useFormat()
  const running = useRef<AbortController>(null)
  const [said, setSaid] = useState('')
  const [isRunning, setRunning] = useState(false)
  const [failure, setFailure] = useState<unknown>(null)
  useEffect(() => () => running.current?.abort(), [])
  const run = async () => {
    const control = new AbortController()
    const { signal } = control
    running.current = control
    setRunning(true)
    setFailure(null)
    setSaid(t.exporting('0'))
    try {
      const onRows = (rows: number) => setSaid(t.exporting(format.count(rows)))
      const { file, rows, isCut } = await exportEntries(asked, t.columns, { onRows, signal })
      saveFile(file, `${t.file}-${format.dateOf(serverNow())}.csv`)
      setSaid((isCut ? t.cut : t.exported)(format.count(rows)))
    } catch (error) {
      setSaid('')
      if (!signal.aborted) setFailure(error)
    }
    setRunning(false)
  }
  return (
    <>
      {isRunning ? (
        <ActionButton className="end" onPress={() => running.current?.abort()}>
          {t.stop}
        </ActionButton>
      ) : (
        <ActionButton className="end" icon="download" onPress={() => void run()}>
          {t.export}
        </ActionButton>
      )}
      <span className="hint" role="status">
        {said}
      </span>
      {failure !== null && <Trouble error={failure} onRetry={() => void run()} />}
    </>
  )
}
