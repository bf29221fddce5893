import { useRef, useState } from 'react'
import { ActionButton } from '../../parts/parts.tsx'
import { useImportTexts } from './texts.ts'

/** Takes a file that is dropped, pasted or chosen. */
export function DropFile(props: { file: File | null; isBusy: boolean; onFile: (file: File) => void }) {
  const { file, isBusy, onFile } = props
  const t = useImportTexts()
  const input = useRef<HTMLInputElement>(null)
  const [isOver, setOver] = useState(false)
  const take = (files: FileList | null) => {
    const [first] = files ?? []
    if (first && !isBusy) onFile(first)
  }
  return (
    <section
      className={`drop ${isOver ? 'over' : ''} ${file ? 'taken' : ''}`}
      aria-label={t.file}
      onDragOver={event => {
        if (!event.dataTransfer.types.includes('Files')) return
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={event => {
        event.preventDefault()
        setOver(false)
        take(event.dataTransfer.files)
      }}
    >
      <input
        ref={input}
        type="file"
        hidden
        accept=".xlsx,.csv,.json"
        aria-label={t.choose}
        onChange={({ target }) => {
          take(target.files)
          // The same file again, mended, is another choice.
          target.value = ''
        }}
      />
      <p>{file ? file.name : t.drop}</p>
      <ActionButton isDisabled={isBusy} onPress={() => input.current?.click()}>
        {file ? t.another : t.choose}
      </ActionButton>
      {!file && <p className="hint">{t.dropHint}</p>}
    </section>
  )
}
