import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useNavigate } from 'react-router'
import { answered, api } from '../../../api/client.ts'
import { isMissing } from '../../../api/failure.ts'
import type { Permission, Role } from '../../../api/roles.ts'
import { useWorkspace } from '../../../api/workspace.ts'
import { MissingRecord } from '../../../parts/missing-record.tsx'
import { Modal } from '../../../parts/modal.tsx'
import { ActionButton, Field, Trouble } from '../../../parts/parts.tsx'
import { roleTexts as de } from '../../../texts/de/roles.ts'
import { roleTexts as en } from '../../../texts/en/roles.ts'
import { useOwnTexts, useTexts } from '../../../texts/texts.tsx'
import { urls } from '../../../urls.ts'
import { useRecordDraft } from '../../records/record-draft.ts'
import { RecordForm } from '../../records/record-form.tsx'
import { detailsOf, rightsOf } from './rights.ts'
import { RightsFields } from './rights-fields.tsx'
import { RolePreview } from './role-preview.tsx'

const TEXTS = { en, de }

type WholeRole = Awaited<ReturnType<typeof readRole>>

const path = (id: string) => ({ params: { path: { id } } })
const readRole = async (id: string) => (await answered(api.GET('/api/v3/role/{id}', path(id)))).data

interface Props {
  /** `new` creates one. */
  id: string
  /** The role that a new one begins with. */
  copied: Role | undefined
  permissions: readonly Permission[]
  onClose: () => void
}

export function RoleDialog({ id, copied, permissions, onClose }: Props) {
  const { records: t } = useTexts()
  const own = useOwnTexts(TEXTS)
  const isNew = id === 'new'
  const found = useQuery({ queryKey: ['roles', id], enabled: !isNew, queryFn: () => readRole(id) })
  if (isNew) return <RoleForm {...{ role: null, copied, permissions, onClose }} />
  if (found.data) return <RoleForm {...{ role: found.data, copied, permissions, onClose }} />
  if (!found.error) return null
  return (
    <Modal title={own.permission} onClose={onClose}>
      {isMissing(found.error) ? (
        <MissingRecord>{t.missing}</MissingRecord>
      ) : (
        <Trouble error={found.error} onRetry={() => void found.refetch()} />
      )}
    </Modal>
  )
}

function RoleForm(props: Omit<Props, 'id'> & { role: WholeRole | null }) {
  const { role, copied, permissions, onClose } = props
  const texts = useTexts()
  const t = useOwnTexts(TEXTS)
  const navigate = useNavigate()
  const { may } = useWorkspace()
  const draft = useRecordDraft(
    role,
    (now: WholeRole | null) => ({
      name: now?.name ?? (copied ? t.copyOf(copied.name) : ''),
      permissionDetails: rightsOf((now ?? copied)?.permissionDetails ?? []),
    }),
    readRole,
  )
  const { values, field } = draft
  const [isPreviewing, setPreviewing] = useState(false)
  const isFixed = role?.isDefault ?? false
  const maySave = may(role ? 'update/role' : 'create/role') && !isFixed
  const save = async (now: WholeRole | null) => {
    const body = { name: values.name, permissionDetails: detailsOf(values.permissionDetails) }
    if (!now) return answered(api.POST('/api/v3/role', { body }))
    const mine = draft.changesOf(body)
    const { name, permissionDetails } = now
    return answered(
      api.PUT('/api/v3/role/{id}', { ...path(now._id), body: { name, permissionDetails, ...mine } }),
    )
  }
  const remove =
    role && !isFixed && may('delete/role')
      ? { ask: t.deleteAsk(role.name), run: () => answered(api.DELETE('/api/v3/role/{id}', path(role._id))) }
      : undefined
  const title = role?.name ?? t.create
  if (isPreviewing)
    return (
      <Modal title={t.preview.title(values.name || title)} onClose={() => setPreviewing(false)} wide hasDone>
        <RolePreview rights={values.permissionDetails} />
      </Modal>
    )
  return (
    <RecordForm
      name="roles"
      title={title}
      wide
      draft={draft}
      onClose={onClose}
      save={maySave ? save : undefined}
      remove={remove}
      actions={
        role &&
        may('create/role') && (
          <ActionButton
            icon="copy"
            onPress={() => void navigate(`${urls.settingsOf('roles', 'new')}?from=${role._id}`)}
          >
            {t.copy}
          </ActionButton>
        )
      }
    >
      {isFixed ? (
        <p className="note">{t.defaultNote(title)}</p>
      ) : (
        <Field
          label={texts.records.name}
          {...field('name')}
          isRequired
          isReadOnly={!maySave}
          autoFocus={!role}
        />
      )}
      {role && role.gone.length > 0 && <p className="hint">{t.gone(role.gone.length)}</p>}
      <div className="row-of-buttons">
        <ActionButton icon="user" onPress={() => setPreviewing(true)}>
          {t.preview.open}
        </ActionButton>
        {role && may('view/user') && (
          <ActionButton
            looks="quiet"
            icon="team"
            onPress={() => void navigate(`${urls.list('users')}?role=${role._id}`)}
          >
            {t.holders}
          </ActionButton>
        )}
      </div>
      <RightsFields
        permissions={permissions}
        rights={values.permissionDetails}
        onChange={maySave ? draft.set('permissionDetails') : undefined}
      />
    </RecordForm>
  )
}
