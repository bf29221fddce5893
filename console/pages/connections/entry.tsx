import '../../styles/setup.css'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { answered, api } from '../../api/client.ts'
import { Modal } from '../../parts/modal.tsx'
import { Choose, Copyable, Trouble } from '../../parts/parts.tsx'
import { useTexts } from '../../texts/texts.tsx'
import { type Connection, pathTo, useConnection } from './queries.ts'
import { ConnectionState } from './state.tsx'
import { useConnectionTexts } from './texts.ts'

const KEY = 'CONNECTION_KEY'

interface Props {
  connection: Connection
  /** Known only right after the connection or its key was created. */
  connectionKey?: string | undefined
}

/** The settings to enter on the other side, with the key, until the first message arrives. */
export function EntryDialog({ connection, connectionKey, onClose }: Props & { onClose: () => void }) {
  const t = useConnectionTexts()
  const now = useConnection(connection)
  return (
    <Modal title={t.entry(connection.name)} onClose={onClose} isKept={now.counts.messages === 0} hasDone wide>
      <div className="stack">
        <EntrySteps connection={connection} connectionKey={connectionKey} />
        <div className="arrival" role="status">
          <ConnectionState connection={now} />
        </div>
      </div>
    </Modal>
  )
}

/** The settings by the labels of the platform's own page. */
export function EntrySteps({ connection, connectionKey }: Props) {
  const texts = useTexts()
  const t = useConnectionTexts()
  const [app, setApp] = useState('')
  const { _id, kind, profileId, headerName } = connection
  const setup = useQuery({
    queryKey: ['connection-setup', _id, kind, profileId, headerName],
    queryFn: async () => (await answered(api.GET('/api/v3/connection/{id}/setup', pathTo(_id)))).data,
  })
  const fill = (value: string) => (connectionKey ? value.replaceAll(KEY, connectionKey) : value)
  if (setup.error) return <Trouble error={setup.error} onRetry={() => void setup.refetch()} />
  const chosen = setup.data?.find(one => one.app === app) ?? setup.data?.[0]
  if (!chosen) return null
  return (
    <>
      <p className={connectionKey ? 'note' : 'hint'}>{connectionKey ? t.key : t.noKey}</p>
      <Choose
        label={t.where}
        value={chosen.app}
        onChange={setApp}
        choices={(setup.data ?? []).map(one => ({ id: one.app, name: one.app }))}
      />
      <dl className="facts wide" aria-label={t.enter(chosen.app)}>
        {chosen.steps.map(step => (
          <div key={step.label}>
            <dt>{step.label}</dt>
            <dd>
              {step.value === '' ? (
                <span className="hint">{texts.form.none}</span>
              ) : (
                <Copyable value={fill(step.value)} label={step.label} />
              )}
            </dd>
          </div>
        ))}
      </dl>
    </>
  )
}
