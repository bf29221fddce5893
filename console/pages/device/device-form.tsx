import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { answered, api } from '../../api/client.ts'
import { findRecord, readName } from '../../api/lists.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { ChooseRecord } from '../../parts/choose-record.tsx'
import { ActionButton, Field, Trouble } from '../../parts/parts.tsx'
import { Question } from '../../parts/question.tsx'
import { offerUndo } from '../../parts/undo.ts'
import { deviceTrackerTexts as de } from '../../texts/de/device-tracker.ts'
import { deviceTrackerTexts as en } from '../../texts/en/device-tracker.ts'
import { useOwnTexts, useTexts } from '../../texts/texts.tsx'
import { useRecordDraft } from '../records/record-draft.ts'
import { RecordFields, RecordForm, useLeaving } from '../records/record-form.tsx'
import SetupDialog from '../setup-dialog.tsx'
import { type Device, pathTo, readDevice } from './device-queries.ts'

const TEXTS = { en, de }

const draftOf = (device: Device | null) => ({
  name: device?.name ?? '',
  hubId: device?.hubId ?? '',
  vehicleId: device?.vehicleId ?? '',
  profileId: device?.profileId ?? '',
  references: device?.references.join(', ') ?? '',
})

/** The fields that the forms of a new device and of a device's page share. */
function useDeviceForm(device: Device | null) {
  const texts = useTexts()
  const { may } = useWorkspace()
  const draft = useRecordDraft(device, draftOf, readDevice)
  const { values, field } = draft
  const own = useOwnTexts(TEXTS)
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
  /** Saves, and offers to put back the device that was on the vehicle. */
  const saveAndOffer = async (save: (body: ReturnType<typeof bodyOf>) => Promise<unknown>) => {
    const carrier = await findCarrier()
    await save(bodyOf(values))
    if (!carrier) return
    const { vehicle, deviceId } = carrier
    const mount = (id: string, vehicleId: string | null) =>
      answered(api.PATCH('/api/v3/device/{id}', { ...pathTo(id), body: { vehicleId } }))
    offerUndo({
      text: texts.kinds.devices.replaced(carrier.name, vehicle.name),
      undo: async () => {
        await mount(deviceId, vehicle._id)
        if (device?.vehicleId) await mount(device._id, device.vehicleId)
      },
    })
  }
  const fields = (
    <>
      <Field label={texts.records.name} {...field('name')} isRequired autoFocus={!device} />
      <ChooseRecord kind="vehicles" label={texts.subject.vehicle} {...field('vehicleId')} />
      <ChooseRecord kind="hubs" label={texts.subject.hub} {...field('hubId')} />
      <ChooseRecord
        kind="tracker-profiles"
        label={own.profile}
        none={own.ownTopics}
        {...field('profileId')}
      />
      <Field label={own.references} hint={own.referencesHint} {...field('references')} />
    </>
  )
  return { draft, fields, askBefore, saveAndOffer }
}

const bodyOf = ({ name, hubId, vehicleId, profileId, references }: ReturnType<typeof draftOf>) => ({
  ...{ name, hubId: hubId || null, vehicleId: vehicleId || null, profileId: profileId || null },
  references: references
    .split(',')
    .map(one => one.trim())
    .filter(one => one !== ''),
})

/** The dialog of a new device, which goes on to its setup. */
export function NewDevice({ onClose }: { onClose: () => void }) {
  const texts = useTexts()
  const { may } = useWorkspace()
  const { draft, fields, askBefore, saveAndOffer } = useDeviceForm(null)
  const [made, setMade] = useState<(Device & { key: string }) | null>(null)
  if (made) return <SetupDialog device={made} deviceKey={made.key} onClose={onClose} />
  const save = () =>
    saveAndOffer(async body => setMade((await answered(api.POST('/api/v3/device', { body }))).data))
  return (
    <RecordForm
      name="devices"
      title={texts.kinds.devices.create}
      draft={draft}
      onClose={onClose}
      save={may('create/device') ? save : undefined}
      askBefore={askBefore}
      onSaved={() => {}}
    >
      {fields}
    </RecordForm>
  )
}

interface SettingsProps {
  device: Device
  /** Leaves the page: the device is deleted. */
  onClose: () => void
  onSaved: () => void
  onKey: (key: string) => void
}

/** The settings of a device on its page. */
export function DeviceSettings({ device, onClose, onSaved, onKey }: SettingsProps) {
  const texts = useTexts()
  const { may } = useWorkspace()
  const { draft, fields, askBefore, saveAndOffer } = useDeviceForm(device)
  const mayChange = may('update/device')
  const leaving = useLeaving(mayChange && draft.isChanged, onClose)
  const [isAsking, setAsking] = useState(false)
  const t = texts.kinds.devices
  const rotate = useMutation({
    mutationFn: async () =>
      (await answered(api.POST('/api/v3/device/{id}/rotate-key', pathTo(device._id)))).data,
    onSuccess: ({ key }) => {
      setAsking(false)
      onKey(key)
    },
  })
  const save = () =>
    saveAndOffer(body =>
      answered(api.PATCH('/api/v3/device/{id}', { ...pathTo(device._id), body: draft.changesOf(body) })),
    )
  const remove = {
    ask: t.deleteAsk(device.name),
    run: () => answered(api.DELETE('/api/v3/device/{id}', pathTo(device._id))),
  }
  return (
    <RecordFields
      name="devices"
      draft={draft}
      leaving={leaving}
      onClose={onClose}
      onSaved={onSaved}
      save={mayChange ? save : undefined}
      askBefore={askBefore}
      remove={may('delete/device') ? remove : undefined}
      actions={mayChange && <ActionButton onPress={() => setAsking(true)}>{t.newKey}</ActionButton>}
      asked={
        isAsking && (
          <Question
            ask={t.newKeyAsk(device.name)}
            yes={t.newKey}
            isPending={rotate.isPending}
            onYes={() => rotate.mutate()}
            onNo={() => setAsking(false)}
          />
        )
      }
    >
      {fields}
      {rotate.error && <Trouble error={rotate.error} isDeed />}
    </RecordFields>
  )
}
