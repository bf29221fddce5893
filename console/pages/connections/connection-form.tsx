import '../../styles/trackers.css'
import { useState } from 'react'
import { Checkbox, Label, Text, TextArea, TextField } from 'react-aria-components'
import { answered, api } from '../../api/client.ts'
import { ChooseRecord } from '../../parts/choose-record.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Choose, Field, FieldErrorText } from '../../parts/parts.tsx'
import { useTexts } from '../../texts/texts.tsx'
import { RecordForm } from '../records/record-form.tsx'
import { bodyOf, type ConnectionDraft, type Kind, useConnectionDraft } from './connection-draft.ts'
import { EntryDialog } from './entry.tsx'
import type { Connection } from './queries.ts'
import { useConnectionTexts } from './texts.ts'

const KINDS: Kind[] = ['http', 'mqtt', 'broker']

/** The form of a new connection, and then what to enter on the other side, with the key that is shown once. */
export function NewConnection({ onClose }: { onClose: () => void }) {
  const texts = useTexts()
  const draft = useConnectionDraft(null)
  const [made, setMade] = useState<(Connection & { key: string }) | null>(null)
  if (made) return <EntryDialog connection={made} connectionKey={made.key} onClose={onClose} />
  // A broker is signed in to with its own password: the key opens nothing.
  const isBroker = draft.values.kind === 'broker'
  const save = async () => {
    const { data } = await answered(api.POST('/api/v3/connection', { body: bodyOf(draft.values) }))
    if (!isBroker) setMade(data)
  }
  return (
    <RecordForm
      name="connections"
      title={texts.kinds.connections.create}
      draft={draft}
      onClose={onClose}
      save={save}
      onSaved={isBroker ? onClose : () => {}}
    >
      <ConnectionFields draft={draft} isNew />
    </RecordForm>
  )
}

/** The fields of the kind of a connection, and of no other kind. */
export function ConnectionFields({ draft, isNew = false }: { draft: ConnectionDraft; isNew?: boolean }) {
  const texts = useTexts()
  const t = useConnectionTexts()
  const { values, field, set } = draft
  const { kind } = values
  return (
    <>
      <Field label={texts.records.name} {...field('name')} isRequired autoFocus={isNew} />
      {isNew && (
        <Choose
          label={t.kind}
          name="kind"
          choices={KINDS.map(id => ({ id, name: t.kinds[id] }))}
          value={kind}
          onChange={chosen => set('kind')(chosen as Kind)}
        />
      )}
      <p className="hint">{t.kindHints[kind]}</p>
      <ChooseRecord
        kind="tracker-profiles"
        label={t.profile}
        none={t.chooseProfile}
        {...field('profileId')}
      />
      {kind === 'broker' && <BrokerFields draft={draft} isNew={isNew} />}
      <ChooseRecord kind="hubs" label={t.hub} {...field('hubId')} />
      <Checkbox
        className="check"
        name="createDevices"
        isSelected={values.createDevices}
        onChange={set('createDevices')}
      >
        <span className="box">
          <Icon name="check" />
        </span>
        {t.createDevices}
      </Checkbox>
      <p className="hint">{t.createDevicesHint}</p>
      {kind === 'http' && (
        <Field
          label={t.headerName}
          hint={t.headerNameHint}
          placeholder="x-api-key"
          {...field('headerName')}
        />
      )}
    </>
  )
}

function BrokerFields({ draft, isNew }: { draft: ConnectionDraft; isNew: boolean }) {
  const t = useConnectionTexts()
  const { field, first } = draft
  const isUsed =
    first['broker.clientId'] || first['broker.caCertificate'] || first['broker.clientCertificate']
  return (
    <>
      <Field
        label={t.url}
        hint={t.urlHint}
        placeholder="mqtts://broker.example.com:8883"
        {...field('broker.url')}
        isRequired
      />
      <div className="two">
        <Field label={t.username} {...field('broker.username')} autoComplete="off" />
        <Field
          label={t.password}
          hint={isNew ? undefined : t.passwordKept}
          {...field('broker.password')}
          type="password"
          autoComplete="new-password"
        />
      </div>
      <Field label={t.topics} hint={t.topicsHint} {...field('broker.topics')} />
      <details className="more-fields" open={Boolean(isUsed) || undefined}>
        <summary>{t.tls}</summary>
        <div className="stack">
          <Field label={t.clientId} {...field('broker.clientId')} />
          <PemField label={t.caCertificate} {...field('broker.caCertificate')} />
          <PemField label={t.clientCertificate} {...field('broker.clientCertificate')} />
          <PemField
            label={t.clientKey}
            hint={isNew ? undefined : t.passwordKept}
            {...field('broker.clientKey')}
          />
        </div>
      </details>
    </>
  )
}

interface TextAreaProps {
  label: string
  hint?: string | undefined
  name: string
  value: string
  onChange: (text: string) => void
}

function PemField({ label, hint, ...rest }: TextAreaProps) {
  return (
    <TextField {...rest} className="field lines">
      <Label>{label}</Label>
      <TextArea rows={3} spellCheck="false" />
      {hint && (
        <Text slot="description" className="hint">
          {hint}
        </Text>
      )}
      <FieldErrorText />
    </TextField>
  )
}
