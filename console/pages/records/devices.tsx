import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useNavigate } from 'react-router'
import { answered, api } from '../../api/client.ts'
import { findRecord, readName } from '../../api/lists.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { useLive } from '../../live/live.tsx'
import { ChooseRecord, RecordName } from '../../parts/choose-record.tsx'
import { StateMark } from '../../parts/icon.tsx'
import { ActionButton, Field, Trouble } from '../../parts/parts.tsx'
import { Question } from '../../parts/question.tsx'
import { offerUndo } from '../../parts/undo.ts'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { urls } from '../../urls.ts'
import SetupDialog from '../setup-dialog.tsx'
import { useRecordDraft } from './record-draft.ts'
import { RecordForm } from './record-form.tsx'
import { RecordsPage } from './records-page.tsx'

type Device = Awaited<ReturnType<typeof readDevice>>

const path = (id: string) => ({ params: { path: { id } } })
const readDevice = async (id: string) => (await answered(api.GET('/api/v3/device/{id}', path(id)))).data

export function Component() {
  const texts = useTexts()
  const format = useFormat()
  const { fleet } = useLive()
  const t = texts.records
  const stateOf = (device: Device) => fleet.find(device._id)?.state
  return (
    <RecordsPage
      kind="devices"
      read={(query, signal) => answered(api.GET('/api/v3/devices', { params: { query }, signal }))}
      columns={[
        {
          id: 'name',
          title: t.name,
          sort: 'name',
          cell: device => {
            const state = stateOf(device)
            return (
              <span className="named">
                {state && <StateMark state={state} />}
                <span>{device.name}</span>
              </span>
            )
          },
        },
        {
          id: 'vehicle',
          title: texts.subject.vehicle,
          cell: device => <RecordName kind="vehicles" id={device.vehicleId} />,
        },
        {
          id: 'hub',
          title: texts.subject.hub,
          cell: device => <RecordName kind="hubs" id={device.hubId} />,
          minor: true,
        },
        {
          id: 'seen',
          title: texts.kinds.devices.seen,
          sort: 'lastSeenAt',
          cell: device => (device.lastSeenAt ? format.ago(Date.parse(device.lastSeenAt)) : texts.units.never),
        },
      ]}
      readOne={readDevice}
      form={(device, onClose) => <DeviceForm device={device} onClose={onClose} />}
    />
  )
}

const draftOf = (device: Device | null) => ({
  name: device?.name ?? '',
  hubId: device?.hubId ?? '',
  vehicleId: device?.vehicleId ?? '',
})

function DeviceForm({ device, onClose }: { device: Device | null; onClose: () => void }) {
  const texts = useTexts()
  const navigate = useNavigate()
  const { may } = useWorkspace()
  const draft = useRecordDraft(device, draftOf, readDevice)
  const { values, field } = draft
  const [made, setMade] = useState<{ device: Device; key?: string } | null>(null)
  const [isAsking, setAsking] = useState(false)
  const t = texts.records
  const rotate = useMutation({
    mutationFn: async (id: string) =>
      (await answered(api.POST('/api/v3/device/{id}/rotate-key', path(id)))).data,
    onSuccess: rotated => setMade({ device: rotated, key: rotated.key }),
  })
  /** The chosen vehicle, if it carries another device. */
  const findCarrier = async () => {
    const isOther = values.vehicleId !== '' && values.vehicleId !== device?.vehicleId
    const vehicle = isOther && may('view/vehicle') ? await findRecord('vehicles', values.vehicleId) : null
    if (!vehicle?.deviceId || vehicle.deviceId === device?._id) return null
    const name = await readName('devices', vehicle.deviceId)
    return { vehicle, deviceId: vehicle.deviceId, name: name ?? texts.form.unknown }
  }
  const askBefore = async () => {
    const carrier = await findCarrier()
    if (!carrier) return null
    const { replace, replaceAsk } = texts.kinds.devices
    return { ask: replaceAsk(carrier.vehicle.name, carrier.name), yes: replace }
  }
  if (made) return <SetupDialog device={made.device} deviceKey={made.key} onClose={onClose} />
  const saveAndOffer = async () => {
    const carrier = await findCarrier()
    await save()
    if (!carrier) return
    const { vehicle, deviceId } = carrier
    const mount = (id: string, vehicleId: string | null) =>
      answered(api.PATCH('/api/v3/device/{id}', { ...path(id), body: { vehicleId } }))
    offerUndo({
      text: texts.kinds.devices.replaced(carrier.name, vehicle.name),
      undo: async () => {
        await mount(deviceId, vehicle._id)
        if (device?.vehicleId) await mount(device._id, device.vehicleId)
      },
    })
  }
  const save = async () => {
    const body = { name: values.name, hubId: values.hubId || null, vehicleId: values.vehicleId || null }
    if (device)
      return answered(api.PATCH('/api/v3/device/{id}', { ...path(device._id), body: draft.changesOf(body) }))
    const { data } = await answered(api.POST('/api/v3/device', { body }))
    setMade({ device: data, key: data.key })
  }
  const remove = device &&
    may('delete/device') && {
      ask: texts.kinds.devices.deleteAsk(device.name),
      run: () => answered(api.DELETE('/api/v3/device/{id}', path(device._id))),
    }
  return (
    <RecordForm
      name="devices"
      title={device?.name ?? texts.kinds.devices.create}
      draft={draft}
      onClose={onClose}
      save={may(device ? 'update/device' : 'create/device') ? saveAndOffer : undefined}
      askBefore={askBefore}
      onSaved={device ? undefined : () => {}}
      remove={remove || undefined}
      actions={
        device && (
          <>
            <ActionButton onPress={() => setMade({ device })}>{texts.kinds.devices.setup}</ActionButton>
            {may('update/device') && (
              <ActionButton onPress={() => setAsking(true)}>{texts.kinds.devices.newKey}</ActionButton>
            )}
          </>
        )
      }
      asked={
        device &&
        isAsking && (
          <Question
            ask={texts.kinds.devices.newKeyAsk(device.name)}
            yes={texts.kinds.devices.newKey}
            isPending={rotate.isPending}
            onYes={() => rotate.mutate(device._id)}
            onNo={() => setAsking(false)}
          />
        )
      }
    >
      <Field label={t.name} {...field('name')} isRequired autoFocus={!device} />
      <ChooseRecord kind="vehicles" label={texts.subject.vehicle} {...field('vehicleId')} />
      <ChooseRecord kind="hubs" label={texts.subject.hub} {...field('hubId')} />
      {rotate.error && <Trouble error={rotate.error} isDeed />}
      {device && (
        <p className="row-of-buttons">
          {may('view/location') && (
            <ActionButton looks="quiet" icon="map" onPress={() => void navigate(urls.subject(device._id))}>
              {texts.setup.show}
            </ActionButton>
          )}
          <ActionButton
            looks="quiet"
            icon="rejected"
            onPress={() => void navigate(urls.rejectionsOf(device._id))}
          >
            {texts.nav.rejections}
          </ActionButton>
        </p>
      )}
    </RecordForm>
  )
}
