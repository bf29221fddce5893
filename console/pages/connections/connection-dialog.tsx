import '../../styles/trackers.css'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ToggleButton, ToggleButtonGroup } from 'react-aria-components'
import { answered, api } from '../../api/client.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { Modal } from '../../parts/modal.tsx'
import { ActionButton, Trouble } from '../../parts/parts.tsx'
import { Question } from '../../parts/question.tsx'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { RecordFields, useLeaving } from '../records/record-form.tsx'
import { changesOf, useConnectionDraft } from './connection-draft.ts'
import { ConnectionFields } from './connection-form.tsx'
import { EntryDialog, EntrySteps } from './entry.tsx'
import { Messages } from './messages.tsx'
import { type Connection, pathTo, useConnection, useUnknown } from './queries.ts'
import { ConnectionState, Sentence } from './state.tsx'
import { useConnectionTexts } from './texts.ts'
import { Unknown } from './unknown.tsx'

const SECTIONS = ['now', 'messages', 'unknown', 'settings'] as const
type Section = (typeof SECTIONS)[number]

interface Props {
  connection: Connection
  onClose: () => void
}

/** Everything about one connection: how it is, what came, who is unknown, and its settings. */
export function ConnectionDialog({ connection, onClose }: Props) {
  const format = useFormat()
  const t = useConnectionTexts()
  const now = useConnection(connection)
  const [section, setSection] = useState<Section>('now')
  const [key, setKey] = useState<string | null>(null)
  const draft = useConnectionDraft(connection)
  const leaving = useLeaving(draft.isChanged, onClose)
  const unknown = useUnknown(connection._id).data?.length ?? 0
  if (key !== null)
    return <EntryDialog connection={connection} connectionKey={key} onClose={() => setKey(null)} />
  return (
    <Modal
      title={now.name}
      wide
      onClose={() => {
        // The question about unsaved settings stands there.
        if (draft.isChanged) setSection('settings')
        leaving.leave()
      }}
    >
      <div className="stack">
        <ToggleButtonGroup
          className="switch sections"
          aria-label={t.section}
          selectionMode="single"
          disallowEmptySelection
          selectedKeys={[section]}
          onSelectionChange={([chosen]) => setSection(chosen as Section)}
        >
          {SECTIONS.map(name => (
            <ToggleButton key={name} id={name}>
              {t.sections[name]}
              {name === 'unknown' && unknown > 0 && (
                <span className="unknown-count">{format.count(unknown)}</span>
              )}
            </ToggleButton>
          ))}
        </ToggleButtonGroup>
        {section === 'now' && <Overview connection={now} onKey={setKey} onClose={onClose} />}
        {section === 'messages' && <Messages connection={now} />}
        {section === 'unknown' && <Unknown connection={now} />}
        {section === 'settings' && <Settings {...{ draft, leaving, onClose }} connection={connection} />}
      </div>
    </Modal>
  )
}

function Settings(
  props: Props & {
    draft: ReturnType<typeof useConnectionDraft>
    leaving: ReturnType<typeof useLeaving>
  },
) {
  const { connection, draft, leaving, onClose } = props
  const { may } = useWorkspace()
  const save = () =>
    answered(
      api.PATCH('/api/v3/connection/{id}', { ...pathTo(connection._id), body: changesOf(draft) as never }),
    )
  return (
    <RecordFields
      name="connections"
      draft={draft}
      leaving={leaving}
      onClose={onClose}
      save={may('update/connection') ? save : undefined}
    >
      <ConnectionFields draft={draft} />
    </RecordFields>
  )
}

function Overview({ connection, onKey, onClose }: Props & { onKey: (key: string) => void }) {
  const texts = useTexts()
  const format = useFormat()
  const t = useConnectionTexts()
  const { counts, lastMessageAt, lastError, kind } = connection
  return (
    <>
      {/* Above what is read again: the sentence of an error that comes or goes moves what is below it. */}
      <Actions connection={connection} onKey={onKey} onClose={onClose} />
      <dl className="facts wide">
        <div>
          <dt>{t.state}</dt>
          <dd>
            <span role="status">
              <ConnectionState connection={connection} />
            </span>
          </dd>
        </div>
        <div>
          <dt>{t.lastError}</dt>
          <dd>
            <Sentence>{lastError}</Sentence>
          </dd>
        </div>
        <div>
          <dt>{t.lastMessage}</dt>
          <dd>{lastMessageAt ? format.ago(Date.parse(lastMessageAt)) : texts.units.never}</dd>
        </div>
        <div>
          <dt>{t.perMinute}</dt>
          <dd>{format.count(connection.messagesPerMinute)}</dd>
        </div>
        {(['messages', 'points', 'skipped', 'rejected', 'unknown'] as const).map(name => (
          <div key={name}>
            <dt>{t.counts[name]}</dt>
            <dd>{format.count(counts[name])}</dd>
          </div>
        ))}
      </dl>
      {kind !== 'broker' && (
        <details className="more-fields">
          <summary>{t.other}</summary>
          <div className="stack">
            <EntrySteps connection={connection} />
          </div>
        </details>
      )}
    </>
  )
}

/** Stopping and starting, a new key, and deleting. */
function Actions({ connection, onKey, onClose }: Props & { onKey: (key: string) => void }) {
  const texts = useTexts()
  const t = useConnectionTexts()
  const { may } = useWorkspace()
  const queries = useQueryClient()
  const { _id, name, kind, isActive } = connection
  const [asking, setAsking] = useState<'key' | 'delete' | null>(null)
  const refresh = (...what: string[]) => queries.invalidateQueries({ queryKey: ['connections', ...what] })
  const turn = useMutation({
    mutationFn: () =>
      answered(api.PATCH('/api/v3/connection/{id}', { ...pathTo(_id), body: { isActive: !isActive } })),
    onSuccess: () => refresh(),
  })
  const rotate = useMutation({
    mutationFn: async () =>
      (await answered(api.POST('/api/v3/connection/{id}/rotate-key', pathTo(_id)))).data,
    onSuccess: ({ key }) => onKey(key),
  })
  const remove = useMutation({
    mutationFn: () => answered(api.DELETE('/api/v3/connection/{id}', pathTo(_id))),
    onSuccess: () => {
      // The record itself is deleted and cannot be read again.
      void refresh('list')
      onClose()
    },
  })
  const error = turn.error ?? rotate.error ?? remove.error
  const no = () => setAsking(null)
  return (
    <>
      {error && <Trouble error={error} isDeed />}
      {asking === 'key' && (
        <Question
          ask={t.newKeyAsk(name)}
          yes={t.newKey}
          isPending={rotate.isPending}
          onYes={() => rotate.mutate()}
          onNo={no}
        />
      )}
      {asking === 'delete' && (
        <Question
          ask={t.deleteAsk(name)}
          yes={texts.records.delete}
          isPending={remove.isPending}
          onYes={() => remove.mutate()}
          onNo={no}
        />
      )}
      <div className="row-of-buttons" hidden={asking !== null}>
        {may('update/connection') && (
          <ActionButton
            icon={isActive ? 'pause' : 'play'}
            isPending={turn.isPending}
            onPress={() => turn.mutate()}
          >
            {isActive ? t.stop : t.start}
          </ActionButton>
        )}
        {may('update/connection') && kind !== 'broker' && (
          <ActionButton onPress={() => setAsking('key')}>{t.newKey}</ActionButton>
        )}
        {may('delete/connection') && (
          <ActionButton className="end" looks="quiet" onPress={() => setAsking('delete')}>
            {texts.records.delete}
          </ActionButton>
        )}
      </div>
    </>
  )
}
