import { isAwaited } from '../../parts/awaited.ts'
import '../../styles/setup.css'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { answered, api } from '../../api/client.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { FieldForm } from '../../parts/field-form.tsx'
import { useFormErrors } from '../../parts/form-errors.ts'
import { ActionButton, Copyable, Field, Trouble } from '../../parts/parts.tsx'
import { useUnsaved } from '../../parts/unsaved.ts'
import { welcomeTexts as de } from '../../texts/de/welcome.ts'
import { welcomeTexts as en } from '../../texts/en/welcome.ts'
import { useOwnTexts } from '../../texts/texts.tsx'

const TEXTS = { en, de }

import { SampleOffer, useIsSampleRead } from './sample-data.tsx'
import { ZoneQuestion } from './zone-question.tsx'

export interface MadeDevice {
  _id: string
  name: string
  /** Known only right after the device was created. */
  key?: string | undefined
}

/** Quotes an argument for a shell. */
const quote = (text: string) => (/^[\w@.+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

/** Shown instead of an empty map: the way to the first position. */
export default function Welcome({ onMade }: { onMade: (device: MadeDevice) => void }) {
  const { may, user, organizations } = useWorkspace()
  const queries = useQueryClient()
  const t = useOwnTexts(TEXTS)
  const state = useFormErrors()
  const { errors, clear, show } = state
  const [name, setName] = useState('')
  useUnsaved(name !== '')
  const make = useMutation({
    mutationFn: async () => (await answered(api.POST('/api/v3/device', { body: { name } }))).data,
    onMutate: clear,
    onError: show,
    onSuccess: device => {
      void queries.invalidateQueries({ queryKey: ['devices'] })
      onMade(device)
    },
  })
  // Without any position, the newest device is the one that is being set up.
  const found = useQuery({
    queryKey: ['devices', 'newest'],
    enabled: may('view/device'),
    queryFn: async () => {
      const query = { limit: 1, sort: '-createdAt' } as const
      return (await answered(api.GET('/api/v3/devices', { params: { query } }))).data[0] ?? null
    },
  })
  const newest = found.data
  const isSampleRead = useIsSampleRead()
  // In the middle of the page, whatever came later would move all of it.
  if (isAwaited(found) || !isSampleRead) return null
  // The server does not publish its MQTT port. MQTT over WebSocket uses the page's own.
  const mqtt = `${location.origin.replace('http', 'ws')}/mqtt`
  // Without it the command signs in to the organization that the account used last, maybe in another tab.
  const there = organizations.length > 1 ? ` --organization ${user.organizationId}` : ''
  const command = `npm run simulate -- --url ${location.origin} --mqtt ${mqtt} --email ${quote(user.email ?? '')}${there} --password ${t.fleetPassword}`
  return (
    <section className="welcome" aria-labelledby="welcome-title">
      <h2 id="welcome-title">{t.title}</h2>
      <p>{t.lead}</p>
      {newest && (
        <p className="go-on">
          {t.silent(newest.name)}
          <ActionButton looks="primary" onPress={() => onMade({ _id: newest._id, name: newest.name })}>
            {t.goOn}
          </ActionButton>
        </p>
      )}
      {may('create/device') ? (
        <FieldForm state={state} className="inline-form" onSubmit={() => make.mutate()}>
          <Field
            label={t.name}
            name="name"
            placeholder={t.placeholder}
            value={name}
            onChange={setName}
            isRequired
          />
          <ActionButton looks={newest ? 'plain' : 'primary'} type="submit" isPending={make.isPending}>
            {t.create}
          </ActionButton>
        </FieldForm>
      ) : (
        <p className="hint">{t.noPermission}</p>
      )}
      {errors.hasOthers && <Trouble error={make.error} isDeed />}
      <ZoneQuestion />
      <SampleOffer />
      <h3>{t.fleet}</h3>
      <p className="hint">{t.fleetLead}</p>
      <Copyable value={command} label={t.fleet} />
    </section>
  )
}
