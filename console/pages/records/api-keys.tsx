import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { answered, api } from '../../api/client.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { serverNow } from '../../clock.ts'
import { ChooseRecords } from '../../parts/choose-records.tsx'
import { Modal } from '../../parts/modal.tsx'
import { ActionButton, Choose, Copyable, Field, Trouble } from '../../parts/parts.tsx'
import { apiKeyTexts as de } from '../../texts/de/api-keys.ts'
import { apiKeyTexts as en } from '../../texts/en/api-keys.ts'
import { useFormat, useOwnTexts, useTexts } from '../../texts/texts.tsx'
import { useRecordDraft } from './record-draft.ts'
import { RecordForm } from './record-form.tsx'
import { RecordsPage } from './records-page.tsx'

const TEXTS = { en, de }
const DAY_S = 86_400
/** How long a key lasts, in days; null is forever. */
const LASTS = { never: null, month: 30, quarter: 90, year: 365 } as const
/** How long the former key is valid, in seconds. */
const OVERLAPS = { none: 0, hour: 3_600, day: DAY_S, week: 7 * DAY_S } as const
/** The choice that leaves the date as it is. */
const KEPT = 'kept'

type ApiKey = Awaited<ReturnType<typeof readKey>>

const path = (id: string) => ({ params: { path: { id } } })
const readKey = async (id: string) => (await answered(api.GET('/api/v3/api-key/{id}', path(id)))).data
const isOver = ({ expiresAt }: Pick<ApiKey, 'expiresAt'>) =>
  expiresAt !== null && Date.parse(expiresAt) <= serverNow()

export function Component() {
  const texts = useTexts()
  const format = useFormat()
  const t = useOwnTexts(TEXTS)
  return (
    <RecordsPage
      kind="api-keys"
      read={(query, signal) => answered(api.GET('/api/v3/api-keys', { params: { query }, signal }))}
      columns={[
        { id: 'name', title: texts.records.name, sort: 'name', cell: key => key.name },
        { id: 'role', title: t.role, cell: key => key.role.name },
        {
          id: 'used',
          title: t.used,
          sort: 'lastUsedAt',
          cell: ({ lastUsedAt }) =>
            lastUsedAt === null ? texts.units.never : format.ago(Date.parse(lastUsedAt)),
        },
        { id: 'from', title: t.usedFrom, cell: key => key.lastUsedFrom ?? '–', minor: true },
        {
          id: 'expires',
          title: t.expires,
          cell: key =>
            key.expiresAt === null
              ? t.never
              : isOver(key)
                ? t.expired
                : format.longDate(format.dateOf(Date.parse(key.expiresAt))),
        },
        { id: 'prefix', title: t.key, cell: key => <code>{key.prefix}…</code>, minor: true },
        { id: 'createdBy', title: t.createdBy, cell: key => key.createdBy?.name ?? '–', minor: true },
      ]}
      readOne={readKey}
      form={(key, onClose) => <KeyForm apiKey={key} onClose={onClose} />}
    />
  )
}

const draftOf = (key: ApiKey | null) => ({
  name: key?.name ?? '',
  roleId: key?.role._id ?? '',
  hubId: key?.hubId ?? [],
  expiresAt: key?.expiresAt ? KEPT : 'never',
})

function expiryOf(choice: string, key: ApiKey | null): string | null {
  if (choice === KEPT) return key?.expiresAt ?? null
  const days = LASTS[choice as keyof typeof LASTS]
  return days === null ? null : new Date(serverNow() + days * DAY_S * 1_000).toISOString()
}

function KeyForm({ apiKey, onClose }: { apiKey: ApiKey | null; onClose: () => void }) {
  const texts = useTexts()
  const format = useFormat()
  const t = useOwnTexts(TEXTS)
  const { may } = useWorkspace()
  const draft = useRecordDraft(apiKey, draftOf, readKey)
  const { values, field } = draft
  const [made, setMade] = useState<{ name: string; key: string }>()
  const [isRotating, setRotating] = useState(false)
  const isEnded = apiKey !== null && isOver(apiKey)
  if (made) return <ShownOnce name={made.name} secret={made.key} onClose={onClose} />
  if (apiKey && isRotating)
    return <Rotation apiKey={apiKey} onRotated={setMade} onClose={() => setRotating(false)} />
  const save = async () => {
    const { name, roleId, hubId } = values
    const body = { name, roleId, hubId, expiresAt: expiryOf(values.expiresAt, apiKey) }
    if (apiKey)
      return answered(api.PATCH('/api/v3/api-key/{id}', { ...path(apiKey._id), body: draft.changesOf(body) }))
    const { data } = await answered(api.POST('/api/v3/api-key', { body }))
    setMade(data)
  }
  const remove = apiKey &&
    may('delete/api-key') && {
      ask: t.deleteAsk(apiKey.name),
      run: () => answered(api.DELETE('/api/v3/api-key/{id}', path(apiKey._id))),
    }
  const dates = Object.keys(LASTS).map(id => ({ id, name: t.lasts[id as keyof typeof LASTS] }))
  const kept = apiKey?.expiresAt ? [{ id: KEPT, name: t.keepsDate(format.dateTime(apiKey.expiresAt)) }] : []
  return (
    <RecordForm
      name="api-keys"
      title={apiKey?.name ?? texts.kinds['api-keys'].create}
      draft={draft}
      onClose={onClose}
      save={may(apiKey ? 'update/api-key' : 'create/api-key') ? save : undefined}
      onSaved={apiKey ? undefined : () => {}}
      remove={remove || undefined}
      actions={
        apiKey &&
        !isEnded &&
        may('update/api-key') && <ActionButton onPress={() => setRotating(true)}>{t.rotate}</ActionButton>
      }
    >
      {isEnded && <p className="note">{t.isExpired}</p>}
      {apiKey?.formerExpiresAt && (
        <p className="note">{t.formerUntil(format.dateTime(apiKey.formerExpiresAt))}</p>
      )}
      <Field label={texts.records.name} {...field('name')} isRequired autoFocus={!apiKey} />
      <ChooseRole present={apiKey?.role} {...field('roleId')} />
      {!isEnded && <Choose label={t.expires} choices={[...kept, ...dates]} {...field('expiresAt')} />}
      <ChooseRecords kind="hubs" label={t.hubs} {...field('hubId')} />
    </RecordForm>
  )
}

/** An organization has at most 200 roles. */
function ChooseRole(props: {
  present: { _id: string; name: string } | undefined
  name: string
  value: string
  onChange: (id: string) => void
}) {
  const { present, ...rest } = props
  const t = useOwnTexts(TEXTS)
  const { may } = useWorkspace()
  const roles = useQuery({
    queryKey: ['roles', 'choices'],
    enabled: may('view/role'),
    queryFn: async () =>
      (await answered(api.GET('/api/v3/roles', { params: { query: { limit: 500 } } }))).data,
  })
  const found = roles.data ?? (present ? [present] : [])
  return (
    <>
      <Choose label={t.role} choices={found.map(({ _id: id, name }) => ({ id, name }))} {...rest} />
      {roles.error && <Trouble error={roles.error} onRetry={() => void roles.refetch()} />}
    </>
  )
}

function Rotation(props: {
  apiKey: ApiKey
  onRotated: (made: { name: string; key: string }) => void
  onClose: () => void
}) {
  const { apiKey, onRotated, onClose } = props
  const texts = useTexts()
  const t = useOwnTexts(TEXTS)
  const queries = useQueryClient()
  const [overlap, setOverlap] = useState<keyof typeof OVERLAPS>('day')
  const rotate = useMutation({
    mutationFn: async () => {
      const body = { overlapSeconds: OVERLAPS[overlap] }
      return (await answered(api.POST('/api/v3/api-key/{id}/rotate', { ...path(apiKey._id), body }))).data
    },
    onSuccess: rotated => {
      void queries.invalidateQueries({ queryKey: ['api-keys'] })
      onRotated(rotated)
    },
  })
  return (
    <Modal title={t.rotate} onClose={onClose}>
      <div className="stack">
        <p>{t.rotateLead(apiKey.name)}</p>
        <Choose
          label={t.overlap}
          value={overlap}
          onChange={id => setOverlap(id as keyof typeof OVERLAPS)}
          choices={Object.entries(t.overlaps).map(([id, name]) => ({ id, name }))}
        />
        {rotate.error && <Trouble error={rotate.error} isDeed />}
        <div className="row-of-buttons">
          <ActionButton looks="primary" isPending={rotate.isPending} onPress={() => rotate.mutate()}>
            {t.rotate}
          </ActionButton>
          <ActionButton onPress={onClose}>{texts.form.cancel}</ActionButton>
        </div>
      </div>
    </Modal>
  )
}

function ShownOnce({ name, secret, onClose }: { name: string; secret: string; onClose: () => void }) {
  const t = useOwnTexts(TEXTS)
  return (
    <Modal title={t.shown(name)} onClose={onClose} isKept hasDone>
      <div className="stack">
        <p className="note">{t.copyNow}</p>
        <Copyable value={secret} label={t.key} autoFocus />
        <p className="hint">{t.howTo}</p>
        <Copyable value={`Authorization: Bearer ${secret}`} label={t.howTo} />
      </div>
    </Modal>
  )
}
