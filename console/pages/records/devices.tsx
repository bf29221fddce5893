import { useParams } from 'react-router'
import { answered, api } from '../../api/client.ts'
import { useLive } from '../../live/live.tsx'
import { RecordName } from '../../parts/choose-record.tsx'
import { StateMark } from '../../parts/icon.tsx'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { NewDevice } from '../device/device-form.tsx'
import { DevicePage } from '../device/device-page.tsx'
import { pathTo, readDevice } from '../device/device-queries.ts'
import { RecordsPage } from './records-page.tsx'

type Row = Awaited<ReturnType<typeof readDevices>>['data'][number]

const readDevices = (query: object, signal: AbortSignal) =>
  answered(api.GET('/api/v3/devices', { params: { query }, signal }))

/** The list of devices, or the page of the one in the address. */
export function Component() {
  const { id } = useParams()
  return id && id !== 'new' ? <DevicePage id={id} /> : <Devices />
}

function Devices() {
  const texts = useTexts()
  const format = useFormat()
  const { fleet } = useLive()
  const t = texts.records
  const stateOf = (device: Row) => fleet.find(device._id)?.state
  return (
    <RecordsPage
      kind="devices"
      read={readDevices}
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
      filters={[
        { name: 'hubId', kind: 'hubs', label: texts.subject.hub },
        { name: 'vehicleId', kind: 'vehicles', label: texts.subject.vehicle },
      ]}
      bulk={{
        hubOf: device => device.hubId,
        setHub: ({ _id }, hubId) =>
          answered(api.PATCH('/api/v3/device/{id}', { ...pathTo(_id), body: { hubId } })),
        remove: ({ _id }) => answered(api.DELETE('/api/v3/device/{id}', pathTo(_id))),
      }}
      readOne={readDevice}
      form={(_, onClose) => <NewDevice onClose={onClose} />}
    />
  )
}
