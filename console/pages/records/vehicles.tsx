import { answered, api } from '../../api/client.ts'
import { findRecord, readName } from '../../api/lists.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { ChooseRecord, RecordName } from '../../parts/choose-record.tsx'
import { Field } from '../../parts/parts.tsx'
import { offerUndo } from '../../parts/undo.ts'
import type { Format } from '../../texts/format.ts'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { useRecordDraft } from './record-draft.ts'
import { RecordForm } from './record-form.tsx'
import { RecordsPage } from './records-page.tsx'
import { draftToPlan, planToDraft, readWords } from './vehicle-plan.ts'
import { useVehiclePlanTexts, VehiclePlanFields } from './vehicle-plan-fields.tsx'

type Vehicle = Awaited<ReturnType<typeof readVehicle>>

const path = (id: string) => ({ params: { path: { id } } })
const readVehicle = async (id: string) => (await answered(api.GET('/api/v3/vehicle/{id}', path(id)))).data

export function Component() {
  const texts = useTexts()
  const t = texts.records
  return (
    <RecordsPage
      kind="vehicles"
      read={(query, signal) => answered(api.GET('/api/v3/vehicles', { params: { query }, signal }))}
      columns={[
        { id: 'name', title: t.name, sort: 'name', cell: vehicle => vehicle.name },
        {
          id: 'plate',
          title: texts.kinds.vehicles.plate,
          sort: 'plate',
          cell: vehicle => vehicle.plate ?? '–',
        },
        {
          id: 'driver',
          title: texts.subject.driver,
          cell: vehicle => <RecordName kind="users" id={vehicle.driverId} />,
        },
        {
          id: 'device',
          title: texts.subject.device,
          cell: vehicle => <RecordName kind="devices" id={vehicle.deviceId} />,
          minor: true,
        },
        {
          id: 'hub',
          title: texts.subject.hub,
          cell: vehicle => <RecordName kind="hubs" id={vehicle.hubId} />,
          minor: true,
        },
        {
          id: 'tags',
          title: texts.kinds.vehicles.tags,
          cell: vehicle => vehicle.tags.join(', ') || '–',
          minor: true,
        },
      ]}
      filters={[
        { name: 'hubId', kind: 'hubs', label: texts.subject.hub },
        { name: 'driverId', kind: 'users', label: texts.subject.driver },
      ]}
      bulk={{
        hubOf: vehicle => vehicle.hubId,
        setHub: ({ _id }, hubId) =>
          answered(api.PATCH('/api/v3/vehicle/{id}', { ...path(_id), body: { hubId } })),
        remove: ({ _id }) => answered(api.DELETE('/api/v3/vehicle/{id}', path(_id))),
      }}
      readOne={readVehicle}
      form={(vehicle, onClose) => <VehicleForm vehicle={vehicle} onClose={onClose} />}
    />
  )
}

const draftIn = (format: Format) => (vehicle: Vehicle | null) => ({
  ...planToDraft(vehicle, format),
  name: vehicle?.name ?? '',
  plate: vehicle?.plate ?? '',
  tags: vehicle?.tags.join(', ') ?? '',
  hubId: vehicle?.hubId ?? '',
  deviceId: vehicle?.deviceId ?? '',
  driverId: vehicle?.driverId ?? '',
})

function VehicleForm({ vehicle, onClose }: { vehicle: Vehicle | null; onClose: () => void }) {
  const texts = useTexts()
  const planTexts = useVehiclePlanTexts()
  const format = useFormat()
  const { may } = useWorkspace()
  const draft = useRecordDraft(vehicle, draftIn(format), readVehicle)
  const { values, field, set } = draft
  const t = texts.records
  /** The other vehicle that carries the chosen device. */
  const findCarrier = async () => {
    const isOther = values.deviceId !== '' && values.deviceId !== vehicle?.deviceId
    const device = isOther && may('view/device') ? await findRecord('devices', values.deviceId) : null
    if (!device?.vehicleId || device.vehicleId === vehicle?._id) return null
    const name = await readName('vehicles', device.vehicleId)
    return { device, _id: device.vehicleId, name: name ?? texts.form.unknown }
  }
  const askBefore = async () => {
    const carrier = await findCarrier()
    if (!carrier) return null
    const { take, takeAsk } = texts.kinds.vehicles
    return { ask: takeAsk(carrier.device.name, carrier.name), yes: take }
  }
  const saveAndOffer = async () => {
    const carrier = await findCarrier()
    const saved = (await save()).data
    if (!carrier) return
    offerUndo({
      text: texts.kinds.vehicles.taken(carrier.device.name, carrier.name, saved.name),
      undo: async () => {
        await answered(
          api.PATCH('/api/v3/vehicle/{id}', { ...path(carrier._id), body: { deviceId: carrier.device._id } }),
        )
        const deviceId = vehicle?.deviceId
        if (deviceId)
          await answered(api.PATCH('/api/v3/vehicle/{id}', { ...path(saved._id), body: { deviceId } }))
      },
    })
  }
  const save = async () => {
    const { capacity, speed, workingHours, constraints } = draftToPlan(values, format, planTexts.badHours)
    const body = {
      capacity,
      speed,
      workingHours: [...workingHours],
      constraints: { ...constraints, skills: [...constraints.skills] },
      name: values.name,
      plate: values.plate || null,
      tags: readWords(values.tags),
      hubId: values.hubId || null,
      deviceId: values.deviceId || null,
      driverId: values.driverId || null,
    }
    if (vehicle)
      return answered(
        api.PATCH('/api/v3/vehicle/{id}', { ...path(vehicle._id), body: draft.changesOf(body) }),
      )
    return answered(api.POST('/api/v3/vehicle', { body }))
  }
  const remove = vehicle &&
    may('delete/vehicle') && {
      ask: texts.kinds.vehicles.deleteAsk(vehicle.name),
      run: () => answered(api.DELETE('/api/v3/vehicle/{id}', path(vehicle._id))),
    }
  return (
    <RecordForm
      name="vehicles"
      title={vehicle?.name ?? texts.kinds.vehicles.create}
      draft={draft}
      onClose={onClose}
      save={may(vehicle ? 'update/vehicle' : 'create/vehicle') ? saveAndOffer : undefined}
      askBefore={askBefore}
      remove={remove || undefined}
    >
      <Field label={t.name} {...field('name')} isRequired autoFocus={!vehicle} />
      <Field label={texts.kinds.vehicles.plate} {...field('plate')} />
      <ChooseRecord kind="users" label={texts.subject.driver} {...field('driverId')} />
      <ChooseRecord kind="devices" label={texts.subject.device} {...field('deviceId')} />
      <ChooseRecord kind="hubs" label={texts.subject.hub} {...field('hubId')} />
      <Field label={texts.kinds.vehicles.tags} {...field('tags')} />
      <VehiclePlanFields value={values} set={set} />
    </RecordForm>
  )
}
