import { useState } from 'react'
import { Input, SearchField } from 'react-aria-components'
import { useNavigate, useParams, useSearchParams } from 'react-router'
import { usePermissions, useRoles } from '../../../api/roles.ts'
import { useWorkspace } from '../../../api/workspace.ts'
import { Icon } from '../../../parts/icon.tsx'
import { ActionButton, IconButton, Trouble } from '../../../parts/parts.tsx'
import { roleTexts as de } from '../../../texts/de/roles.ts'
import { roleTexts as en } from '../../../texts/en/roles.ts'
import { useFormat, useOwnTexts, useTexts } from '../../../texts/texts.tsx'
import { urls } from '../../../urls.ts'
import { RoleDialog } from './role-dialog.tsx'
import { RoleMatrix } from './role-matrix.tsx'

const TEXTS = { en, de }

/** An organization may have 200 roles. A table of these is as wide as a screen. */
const SHOWN_ROLES = 12

/** Every permission in words, and which role has it. */
export default function Roles() {
  const texts = useTexts()
  const t = useOwnTexts(TEXTS)
  const format = useFormat()
  const navigate = useNavigate()
  const { may } = useWorkspace()
  const { id } = useParams()
  const [params] = useSearchParams()
  const roles = useRoles()
  const permissions = usePermissions()
  const [wanted, setWanted] = useState('')
  const [isWhole, setWhole] = useState(false)
  const error = roles.error ?? permissions.error
  if (error && !(roles.data && permissions.data))
    return (
      <Trouble
        error={error}
        onRetry={() => {
          void roles.refetch()
          void permissions.refetch()
        }}
      />
    )
  if (!roles.data || !permissions.data) return <p className="hint">{texts.loading}</p>
  const fits = findWords(wanted)
  const found = permissions.data.filter(one => fits(t.say(one.permissionName, one.description)))
  const shown = isWhole ? roles.data : roles.data.slice(0, SHOWN_ROLES)
  const close = () => void navigate(urls.settingsOf('roles'))
  return (
    <>
      <div className="toolbar">
        <SearchField className="search" aria-label={t.filter} value={wanted} onChange={setWanted}>
          <Icon name="search" />
          <Input placeholder={t.filter} />
          <IconButton icon="close" label={texts.map.clear} className="clear" />
        </SearchField>
        {shown.length < roles.data.length && (
          <ActionButton onPress={() => setWhole(true)}>
            {t.showAll(format.count(roles.data.length))}
          </ActionButton>
        )}
        {may('create/role') && (
          <ActionButton
            className="end"
            looks="primary"
            icon="plus"
            onPress={() => void navigate(urls.settingsOf('roles', 'new'))}
          >
            {t.create}
          </ActionButton>
        )}
      </div>
      {found.length > 0 ? (
        <RoleMatrix roles={shown} permissions={found} />
      ) : (
        <p className="empty">{t.noneFound}</p>
      )}
      {id && (
        <RoleDialog
          key={id}
          id={id}
          copied={roles.data.find(({ _id }) => _id === params.get('from'))}
          permissions={permissions.data}
          onClose={close}
        />
      )}
    </>
  )
}

/** A test whether a text has all these words, or their beginnings. */
function findWords(wanted: string): (text: string) => boolean {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean)
  return text => words.every(word => text.toLowerCase().includes(word))
}
