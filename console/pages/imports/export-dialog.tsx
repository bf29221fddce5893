import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'react-router'
import { answered, api } from '../../api/client.ts'
import { Modal } from '../../parts/modal.tsx'
import { ActionButton, Choose, Trouble } from '../../parts/parts.tsx'
import { saveFile } from '../../parts/save-file.ts'
import { urls } from '../../urls.ts'
import type { ExportLog } from './import-queries.ts'
import { useImportTexts } from './texts.ts'

type Format = ExportLog['format']
type Places = ExportLog['places']

/** The name that the server gives the file, and a plain one where it has none. */
function nameIn(response: Response, format: Format, name: string): string {
  const header = response.headers.get('content-disposition') ?? ''
  const encoded = /filename\*=UTF-8''([^;]+)/i.exec(header)?.[1]
  return encoded
    ? decodeURIComponent(encoded)
    : (/filename="([^"]+)"/.exec(header)?.[1] ?? `${name}.${format}`)
}

/** Exports records of a type, or all tasks: as a file at once, or in the background where they are many. */
export default function ExportDialog(props: {
  /** Null for tasks. */
  type: { _id: string; name: string; hasPlaces: boolean } | null
  filter: { [key: string]: string }
  isSearched: boolean
  onClose: () => void
}) {
  const { type, filter, isSearched, onClose } = props
  const t = useImportTexts()
  const name = type?.name ?? t.tasks
  const [format, setFormat] = useState<Format>('xlsx')
  const [places, setPlaces] = useState<Places>('text')
  const start = useMutation({
    mutationFn: async (): Promise<'file' | 'background'> => {
      const sent = type
        ? await api.POST('/api/v3/data/export', {
            body: { dataTypeId: type._id, format, filter, places },
            parseAs: 'blob',
          })
        : await api.POST('/api/v3/tasks/export', { body: { format, filter }, parseAs: 'blob' })
      const file = (await answered(Promise.resolve(sent))) as unknown as Blob
      if (sent.response.status === 202) return 'background'
      saveFile(file, nameIn(sent.response, format, name))
      return 'file'
    },
  })
  return (
    <Modal title={t.export(name)} onClose={onClose} hasDone={start.isSuccess}>
      {start.data ? (
        <div className="stack">
          <p className="good" role="status">
            {start.data === 'file' ? t.exported : t.inBackground}
          </p>
          {start.data === 'background' && <Link to={`${urls.imports}?show=exports`}>{t.toExports}</Link>}
        </div>
      ) : (
        <div className="stack">
          {Object.keys(filter).length > 0 && <p className="hint">{t.onlyFiltered}</p>}
          {isSearched && <p className="note">{t.searchNotExported}</p>}
          <Choose
            label={t.format}
            value={format}
            onChange={id => setFormat(id as Format)}
            choices={(['xlsx', 'json'] as const).map(id => ({ id, name: t.formats[id] }))}
          />
          {type?.hasPlaces && format === 'xlsx' && (
            <Choose
              label={t.places}
              value={places}
              onChange={id => setPlaces(id as Places)}
              choices={(['text', 'columns'] as const).map(id => ({ id, name: t.placesAs[id] }))}
            />
          )}
          {start.error && <Trouble error={start.error} isDeed />}
          <ActionButton
            looks="primary"
            icon="download"
            isPending={start.isPending}
            onPress={() => start.mutate()}
          >
            {t.download}
          </ActionButton>
        </div>
      )}
    </Modal>
  )
}
