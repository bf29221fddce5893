import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from 'react-router'
import { answered, api } from '../../api/client.ts'
import { ME, useWorkspace } from '../../api/workspace.ts'
import { ActionButton, Trouble } from '../../parts/parts.tsx'
import { zoneTexts as de } from '../../texts/de/zone.ts'
import { zoneTexts as en } from '../../texts/en/zone.ts'
import { useOwnTexts } from '../../texts/texts.tsx'
import { urls } from '../../urls.ts'

const TEXTS = { en, de }
/** A new organization has this zone. */
const UNSET = 'UTC'

/** Asks for the time zone at the first run, where the browser is in another one. */
export function ZoneQuestion() {
  const t = useOwnTexts(TEXTS)
  const navigate = useNavigate()
  const queries = useQueryClient()
  const { may, timeZone } = useWorkspace()
  const own = new Intl.DateTimeFormat().resolvedOptions().timeZone
  const use = useMutation({
    mutationFn: () => answered(api.PATCH('/api/v3/organization', { body: { timeZone: own } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ME }),
  })
  const isOwn = own === timeZone || /^(Etc\/)?(UTC|GMT|Greenwich|Zulu)$/.test(own)
  if (timeZone !== UNSET || isOwn || !may('update/organization')) return null
  return (
    <>
      <p>{t.ask(timeZone, own.replaceAll('_', ' '))}</p>
      <p className="row-of-buttons">
        <ActionButton isPending={use.isPending} onPress={() => use.mutate()}>
          {t.use(own.replaceAll('_', ' '))}
        </ActionButton>
        <ActionButton looks="quiet" onPress={() => void navigate(urls.settingsOf('organization'))}>
          {t.other}
        </ActionButton>
      </p>
      {use.error && <Trouble error={use.error} isDeed />}
    </>
  )
}
