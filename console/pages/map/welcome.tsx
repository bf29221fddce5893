import '../../styles/setup.css'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { answered, api } from '../../api/client.ts'
import { Failure } from '../../api/failure.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { describeFields } from '../../parts/form-errors.ts'
import { ActionButton, Copyable, Field, Trouble } from '../../parts/parts.tsx'
import { useUnsaved } from '../../parts/unsaved.ts'
import { welcomeTexts as de } from '../../texts/de/welcome.ts'
import { welcomeTexts as en } from '../../texts/en/welcome.ts'
import { useOwnTexts, useTexts } from '../../texts/texts.tsx'

const TEXTS = { en, de }

import { SampleOffer } from './sample-data.tsx'

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
  const texts = useTexts()
  const { may, user } = useWorkspace()
  const queries = useQueryClient()
  const t = useOwnTexts(TEXTS)
  const [name, setName] = useState('')
  useUnsaved(name !== '')
  const make = useMutation({
    mutationFn: async () => (await answered(api.POST('/api/v3/device', { body: { name } }))).data,
    onSuccess: device => {
      void queries.invalidateQueries({ queryKey: ['devices'] })
      onMade(device)
    },
  })
  // Without any position, the newest device is the one that is being set up.
  const { data: newest } = useQuery({
    queryKey: ['devices', 'newest'],
    enabled: may('view/device'),
    queryFn: async () => {
      const query = { limit: 1, sort: '-createdAt' } as const
      return (await answered(api.GET('/api/v3/devices', { params: { query } }))).data[0] ?? null
    },
  })
  // The server does not publish its MQTT port. MQTT over WebSocket uses the page's own.
  const mqtt = `${location.origin.replace('http', 'ws')}/mqtt`
  const command = `npm run simulate -- --url ${location.origin} --mqtt ${mqtt} --email ${quote(user.email)} --password ${t.fleetPassword}`
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
        <Form
          className="inline-form"
          validationErrors={make.error instanceof Failure ? describeFields(make.error.fields, texts) : {}}
          onSubmit={event => {
            event.preventDefault()
            make.mutate()
          }}
        >
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
        </Form>
      ) : (
        <p className="hint">{t.noPermission}</p>
      )}
      {make.error && <Trouble error={make.error} isDeed />}
      <SampleOffer />
      <h3>{t.fleet}</h3>
      <p className="hint">{t.fleetLead}</p>
      <Copyable value={command} label={t.fleet} />
    </section>
  )
}
