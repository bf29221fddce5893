import '../../styles/trackers.css'
import { answered, api } from '../../api/client.ts'
import { RecordName } from '../../parts/choose-record.tsx'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { ConnectionDialog } from '../connections/connection-dialog.tsx'
import { NewConnection } from '../connections/connection-form.tsx'
import { readConnection } from '../connections/queries.ts'
import { ConnectionState, Sentence } from '../connections/state.tsx'
import { useConnectionTexts } from '../connections/texts.ts'
import { RecordsPage } from './records-page.tsx'

/** The list is looked at while trackers are set up. */
const EVERY_MS = 5_000

export function Component() {
  const texts = useTexts()
  const format = useFormat()
  const t = useConnectionTexts()
  return (
    <RecordsPage
      kind="connections"
      everyMs={EVERY_MS}
      read={(query, signal) => answered(api.GET('/api/v3/connections', { params: { query }, signal }))}
      columns={[
        { id: 'name', title: texts.records.name, sort: 'name', cell: one => one.name },
        { id: 'kind', title: t.kind, cell: one => t.kinds[one.kind], minor: true },
        { id: 'state', title: t.state, cell: one => <ConnectionState connection={one} />, whole: true },
        { id: 'pace', title: t.perMinute, cell: one => format.count(one.messagesPerMinute), minor: true },
        {
          id: 'profile',
          title: t.profile,
          cell: one => <RecordName kind="tracker-profiles" id={one.profileId} />,
          minor: true,
        },
        { id: 'error', title: t.lastError, cell: one => <Sentence>{one.lastError}</Sentence>, whole: true },
      ]}
      readOne={readConnection}
      form={(connection, onClose) =>
        connection ? (
          <ConnectionDialog connection={connection} onClose={onClose} />
        ) : (
          <NewConnection onClose={onClose} />
        )
      }
    />
  )
}
