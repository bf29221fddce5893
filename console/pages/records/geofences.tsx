import { Navigate } from 'react-router'
import { answered, api } from '../../api/client.ts'
import { RecordName } from '../../parts/choose-record.tsx'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { urls } from '../../urls.ts'
import { RecordsPage } from './records-page.tsx'

const path = (id: string) => ({ params: { path: { id } } })

/** The list of geofences. They are shown and edited on the map. */
export function Component() {
  const texts = useTexts()
  const format = useFormat()
  const t = texts.fences
  return (
    <RecordsPage
      kind="geofences"
      read={(query, signal) => answered(api.GET('/api/v3/geofences', { params: { query }, signal }))}
      columns={[
        { id: 'name', title: texts.records.name, sort: 'name', cell: fence => fence.name },
        {
          id: 'shape',
          title: t.shape,
          cell: ({ shape }) =>
            shape.type === 'circle'
              ? t.circleOf(format.distance(shape.radius))
              : t.polygonOf(format.count(shape.coordinates.length - 1)),
        },
        {
          id: 'hub',
          title: texts.subject.hub,
          cell: fence => <RecordName kind="hubs" id={fence.hubId} />,
          minor: true,
        },
      ]}
      filters={[{ name: 'hubId', kind: 'hubs', label: texts.subject.hub }]}
      bulk={{
        hubOf: fence => fence.hubId,
        setHub: ({ _id }, hubId) =>
          answered(api.PATCH('/api/v3/geofence/{id}', { ...path(_id), body: { hubId } })),
        remove: ({ _id }) => answered(api.DELETE('/api/v3/geofence/{id}', path(_id))),
      }}
      readOne={async id => id}
      form={id => <Navigate to={urls.fence(id ?? 'new')} replace />}
    />
  )
}
