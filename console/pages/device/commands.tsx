import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { answered, api } from '../../api/client.ts'
import type { components } from '../../api/interface.d.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { isAwaited } from '../../parts/awaited.ts'
import { FieldForm } from '../../parts/field-form.tsx'
import { useFormErrors } from '../../parts/form-errors.ts'
import { ActionButton, Choose, Field, Trouble } from '../../parts/parts.tsx'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { pathTo } from './device-queries.ts'
import { useDeviceTexts } from './texts.ts'

type Command = components['schemas']['Command']

const SHOWN = 20
/** Whoever has sent a command waits for its answer. */
const EVERY_MS = 3_000
const LIFETIMES_S = { hour: 3_600, day: 86_400, week: 604_800 } as const

/** The commands of a device, and a form that sends one. */
export default function Commands({ deviceId }: { deviceId: string }) {
  const t = useDeviceTexts()
  const texts = useTexts()
  const { may } = useWorkspace()
  const commands = useQuery({
    queryKey: ['devices', deviceId, 'commands'],
    meta: { everyMs: EVERY_MS },
    queryFn: async ({ signal }) => {
      const params = { ...pathTo(deviceId).params, query: { limit: SHOWN } }
      return (await answered(api.GET('/api/v3/device/{id}/commands', { params, signal }))).data
    },
  })
  return (
    <>
      {may('create/command') && <NewCommand deviceId={deviceId} />}
      {isAwaited(commands) && <p className="hint loading">{texts.loading}</p>}
      {commands.error && <Trouble error={commands.error} onRetry={() => void commands.refetch()} />}
      {commands.data?.length === 0 && <p className="hint">{t.noCommands}</p>}
      <ul className="facts-list" aria-label={t.commands}>
        {commands.data?.map(command => (
          <Sent key={command._id} command={command} />
        ))}
      </ul>
    </>
  )
}

function NewCommand({ deviceId }: { deviceId: string }) {
  const t = useDeviceTexts()
  const queries = useQueryClient()
  const state = useFormErrors()
  const [name, setName] = useState('')
  const [payload, setPayload] = useState('')
  /** Whether a text that is no JSON is named as one: not before somebody has tried to send it. */
  const [isChecked, setChecked] = useState(false)
  const [lifetime, setLifetime] = useState<keyof typeof LIFETIMES_S>('day')
  const send = useMutation({
    mutationFn: async () => {
      const body = {
        ...{ name, expiresInSeconds: LIFETIMES_S[lifetime] },
        ...(payload.trim() !== '' && { payload: JSON.parse(payload) as unknown }),
      }
      await answered(api.POST('/api/v3/device/{id}/command', { ...pathTo(deviceId), body }))
    },
    onError: state.show,
    async onSuccess() {
      setName('')
      setPayload('')
      setChecked(false)
      await queries.invalidateQueries({ queryKey: ['devices', deviceId, 'commands'] })
    },
  })
  return (
    <FieldForm
      state={state}
      className="stack"
      onSubmit={() => (isJson(payload) ? send.mutate() : setChecked(true))}
    >
      <Field label={t.commandName} name="name" value={name} onChange={setName} isRequired />
      <Field
        label={t.commandPayload}
        name="payload"
        value={payload}
        onChange={setPayload}
        spellCheck="false"
        placeholder='{"seconds": 30}'
        validationBehavior="aria"
        validate={text => (isChecked && !isJson(text) ? t.notJson : null)}
      />
      <Choose
        label={t.commandLifetime}
        value={lifetime}
        onChange={id => setLifetime(id as keyof typeof LIFETIMES_S)}
        choices={Object.entries(t.commandLifetimes).map(([id, name]) => ({ id, name }))}
      />
      {send.error && state.errors.hasOthers && <Trouble error={send.error} isDeed />}
      <div className="row-of-buttons">
        <ActionButton type="submit" isPending={send.isPending}>
          {t.sendCommand}
        </ActionButton>
      </div>
    </FieldForm>
  )
}

function Sent({ command }: { command: Command }) {
  const t = useDeviceTexts()
  const format = useFormat()
  const queries = useQueryClient()
  const { may } = useWorkspace()
  const { _id, deviceId, name, payload, state, result } = command
  const withdraw = useMutation({
    mutationFn: () => {
      const params = { path: { id: deviceId, commandId: _id } }
      return answered(api.DELETE('/api/v3/device/{id}/command/{commandId}', { params }))
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['devices', deviceId, 'commands'] }),
  })
  const at = command.finishedAt ?? command.receivedAt ?? command.sentAt ?? command.createdAt
  return (
    <li>
      <span>
        {name} {payload !== null && <code>{JSON.stringify(payload)}</code>}
      </span>
      <span className="hint">
        {t.commandStates[state]} · {format.sinceSeconds(Date.parse(at))}
      </span>
      {result !== null && <code>{JSON.stringify(result)}</code>}
      {withdraw.error && <Trouble error={withdraw.error} isDeed />}
      {state === 'queued' && may('create/command') && (
        <ActionButton looks="quiet" isPending={withdraw.isPending} onPress={() => withdraw.mutate()}>
          {t.withdrawCommand}
        </ActionButton>
      )}
    </li>
  )
}

function isJson(text: string): boolean {
  try {
    if (text.trim() !== '') JSON.parse(text)
    return true
  } catch {
    return false
  }
}
