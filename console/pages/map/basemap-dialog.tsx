import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { answered, api } from '../../api/client.ts'
import { type BasemapSetting, changeBasemapSetting } from '../../map/basemap-setting.ts'
import { Modal } from '../../parts/modal.tsx'
import { ActionButton, Field, Trouble } from '../../parts/parts.tsx'
import { useFormat, useTexts } from '../../texts/texts.tsx'

const readBasemap = async () => (await answered(api.GET('/api/v3/basemap'))).data
type Basemap = Awaited<ReturnType<typeof readBasemap>>

/** Chooses the archive of streets that the server shows, for every organization. */
export default function BasemapDialog({ onClose }: { onClose: () => void }) {
  const { map: t } = useTexts()
  const { data, error } = useQuery({ queryKey: ['basemap'], queryFn: readBasemap })
  return (
    <Modal title={t.streetsTitle} onClose={onClose}>
      {error && <Trouble error={error} />}
      {data &&
        (data.mayChoose ? (
          <Chooser basemap={data} onClose={onClose} />
        ) : (
          <p className="hint">{data.isFixed ? t.streetsFixed : t.streetsElsewhere}</p>
        ))}
    </Modal>
  )
}

function Chooser({ basemap: { url: before, keptMb }, onClose }: { basemap: Basemap; onClose: () => void }) {
  const { map: t, form } = useTexts()
  const format = useFormat()
  const queries = useQueryClient()
  const [url, setUrl] = useState(before ?? '')
  const choose = useMutation({
    mutationFn: async (chosen: string | null) =>
      (await answered(api.PATCH('/api/v3/basemap', { body: { url: chosen } }))).data,
    onSuccess: data => {
      queries.setQueryData(['basemap'], data)
      changeBasemapSetting(data.tiles as BasemapSetting | null)
      onClose()
    },
  })
  return (
    <Form
      className="stack"
      onSubmit={event => {
        event.preventDefault()
        choose.mutate(url.trim() || null)
      }}
    >
      <p className="hint">{t.streetsLead}</p>
      <Field
        label={t.streetsUrl}
        value={url}
        onChange={setUrl}
        placeholder="https://maps.example/city.pmtiles"
        hint={t.streetsKept(format.count(keptMb))}
        autoFocus
      />
      {choose.error && <Trouble error={choose.error} isDeed />}
      <ActionButton looks="primary" type="submit" isPending={choose.isPending}>
        {choose.isPending ? t.streetsReading : form.save}
      </ActionButton>
    </Form>
  )
}
