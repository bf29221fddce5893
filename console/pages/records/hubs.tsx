import { answered, api } from '../../api/client.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { Field } from '../../parts/parts.tsx'
import { useTexts } from '../../texts/texts.tsx'
import { PlaceField } from '../place-field.tsx'
import { useRecordDraft } from './record-draft.ts'
import { RecordForm } from './record-form.tsx'
import { RecordsPage } from './records-page.tsx'

type Hub = Awaited<ReturnType<typeof readHub>>

const path = (id: string) => ({ params: { path: { id } } })
const readHub = async (id: string) => (await answered(api.GET('/api/v3/hub/{id}', path(id)))).data

export function Component() {
  const texts = useTexts()
  const t = texts.records
  return (
    <RecordsPage
      kind="hubs"
      read={(query, signal) => answered(api.GET('/api/v3/hubs', { params: { query }, signal }))}
      columns={[
        { id: 'name', title: t.name, sort: 'name', cell: hub => hub.name },
        { id: 'address', title: texts.kinds.hubs.address, cell: hub => hub.address ?? '–' },
        { id: 'place', title: texts.subject.position, cell: hub => `${hub.lat}, ${hub.lng}`, minor: true },
      ]}
      bulk={{ remove: ({ _id }) => answered(api.DELETE('/api/v3/hub/{id}', path(_id))) }}
      readOne={readHub}
      form={(hub, onClose) => <HubForm hub={hub} onClose={onClose} />}
    />
  )
}

const draftOf = (hub: Hub | null) => ({
  name: hub?.name ?? '',
  address: hub?.address ?? '',
  lat: hub ? String(hub.lat) : '',
  lng: hub ? String(hub.lng) : '',
})

/** A decimal comma is accepted: 52,52. */
const toDegrees = (text: string) => Number(text.trim().replace(',', '.'))

/** Null for what is no number yet. */
const readDegrees = (text: string): number | null =>
  text.trim() === '' || Number.isNaN(toDegrees(text)) ? null : toDegrees(text)

function HubForm({ hub, onClose }: { hub: Hub | null; onClose: () => void }) {
  const texts = useTexts()
  const { may } = useWorkspace()
  const draft = useRecordDraft(hub, draftOf, readHub)
  const { values, field, set } = draft
  const t = texts.records
  const save = async () => {
    const body = {
      name: values.name,
      address: values.address || null,
      lat: toDegrees(values.lat),
      lng: toDegrees(values.lng),
    }
    if (hub) return answered(api.PATCH('/api/v3/hub/{id}', { ...path(hub._id), body: draft.changesOf(body) }))
    return answered(api.POST('/api/v3/hub', { body }))
  }
  const remove = hub &&
    may('delete/hub') && {
      ask: texts.kinds.hubs.deleteAsk(hub.name),
      run: () => answered(api.DELETE('/api/v3/hub/{id}', path(hub._id))),
    }
  return (
    <RecordForm
      name="hubs"
      title={hub?.name ?? texts.kinds.hubs.create}
      draft={draft}
      onClose={onClose}
      save={may(hub ? 'update/hub' : 'create/hub') ? save : undefined}
      remove={remove || undefined}
    >
      <Field label={t.name} {...field('name')} isRequired autoFocus={!hub} />
      <PlaceField
        label={texts.kinds.hubs.address}
        name="address"
        value={{ address: values.address, lat: readDegrees(values.lat), lng: readDegrees(values.lng) }}
        onChange={({ address, lat, lng }) => {
          set('address')(address)
          // An address alone leaves the place as it is written.
          if (lat !== readDegrees(values.lat)) set('lat')(lat === null ? '' : String(lat))
          if (lng !== readDegrees(values.lng)) set('lng')(lng === null ? '' : String(lng))
        }}
      />
      <div className="two">
        <Field label={texts.kinds.hubs.lat} {...field('lat')} inputMode="decimal" isRequired />
        <Field label={texts.kinds.hubs.lng} {...field('lng')} inputMode="decimal" isRequired />
      </div>
    </RecordForm>
  )
}
