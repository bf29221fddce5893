import { RecordName } from '../../../parts/choose-record.tsx'
import { auditTexts as de } from '../../../texts/de/audit-log.ts'
import { roleTexts as deRoles } from '../../../texts/de/roles.ts'
import { auditTexts as en } from '../../../texts/en/audit-log.ts'
import { roleTexts as enRoles } from '../../../texts/en/roles.ts'
import { useOwnTexts } from '../../../texts/texts.tsx'
import type { Entry } from './entries.ts'

const TEXTS = { en, de }
const ROLES = { en: enRoles, de: deRoles }

/** The words for resources and actions. One that is not known is named as the API names it. */
export function useSayEntry() {
  const t = useOwnTexts(TEXTS)
  const { resources } = useOwnTexts(ROLES)
  return {
    resource: (name: string) => t.resources[name] ?? resources[name] ?? name,
    action: (name: string) => t.actions[name] ?? name,
  }
}

export function Who({ entry }: { entry: Entry }) {
  const t = useOwnTexts(TEXTS)
  if (entry.apiKey) return entry.apiKey.name
  return entry.userId ? <RecordName kind="users" id={entry.userId} /> : t.nobody
}
