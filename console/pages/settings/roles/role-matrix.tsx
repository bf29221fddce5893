import '../../../styles/table.css'
import { Fragment } from 'react'
import { Link } from 'react-router'
import type { Permission, PermissionDetail, Role } from '../../../api/roles.ts'
import { Icon } from '../../../parts/icon.tsx'
import { roleTexts as de } from '../../../texts/de/roles.ts'
import { roleTexts as en } from '../../../texts/en/roles.ts'
import { useOwnTexts } from '../../../texts/texts.tsx'
import { urls } from '../../../urls.ts'
import { groupByResource } from './rights.ts'

const TEXTS = { en, de }

/** A row for each permission and a column for each role, whose name opens it. */
export function RoleMatrix({ roles, permissions }: { roles: Role[]; permissions: Permission[] }) {
  const t = useOwnTexts(TEXTS)
  const granted = roles.map(
    ({ permissionDetails }) => new Map(permissionDetails.map(detail => [detail.permissionName, detail])),
  )
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by the keyboard as well
    <section className="table-box matrix" aria-label={t.matrix} tabIndex={0}>
      <table aria-label={t.matrix}>
        <thead>
          <tr>
            <th scope="col">{t.permission}</th>
            {roles.map(role => (
              <th key={role._id} scope="col">
                <Link to={urls.settingsOf('roles', role._id)}>{role.name}</Link>
                {role.isDefault && <small>{t.fixed}</small>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {groupByResource(permissions).map(([resource, group]) => (
            <Fragment key={resource}>
              <tr className="group">
                <th scope="rowgroup" colSpan={roles.length + 1}>
                  {t.resources[resource] ?? resource}
                </th>
              </tr>
              {group.map(({ permissionName, description }) => (
                <tr key={permissionName}>
                  <th scope="row" title={permissionName}>
                    {t.say(permissionName, description)}
                  </th>
                  {granted.map((rights, at) => (
                    <td key={roles[at]?._id}>
                      <Grant detail={rights.get(permissionName)} />
                    </td>
                  ))}
                </tr>
              ))}
            </Fragment>
          ))}
        </tbody>
      </table>
    </section>
  )
}

/** Whether a role has a permission, and how far it reaches. */
function Grant({ detail }: { detail: PermissionDetail | undefined }) {
  const t = useOwnTexts(TEXTS)
  if (!detail)
    return (
      <span className="hint">
        <span aria-hidden="true">–</span>
        <span className="unseen">{t.no}</span>
      </span>
    )
  const { scope, dataTypes } = detail
  const hidden = dataTypes?.reduce((sum, { restrictedFields }) => sum + restrictedFields.length, 0) ?? 0
  const limits = [
    ...(scope === 'all' ? [] : [t.scopes[scope]]),
    ...(dataTypes ? [t.types(dataTypes.length)] : []),
    ...(hidden > 0 ? [t.hiddenFields(hidden)] : []),
  ]
  return (
    <span className="grant">
      <Icon name="check" />
      {limits.length > 0 ? limits.join(', ') : <span className="unseen">{t.yes}</span>}
    </span>
  )
}
