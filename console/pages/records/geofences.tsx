import { Navigate } from 'react-router'
import { answered, api } from '../../api/client.ts'
import { RecordName } from '../../parts/choose-record.tsx'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { urls } from '../../urls.ts'
import { RecordsPage } from './records-page.tsx'

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
      readOne={async id => id}
      form={id => <Navigate to={urls.fence(id ?? 'new')} replace />}
    />
  )
}
