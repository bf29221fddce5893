import '../../../styles/fences.css'
import { useQueryClient } from '@tanstack/react-query'
import type { Map as MapLibre } from 'maplibre-gl'
import { Fragment, useMemo, useRef, useState } from 'react'
import { Label, Text, TextArea, TextField, ToggleButton, ToggleButtonGroup } from 'react-aria-components'
import { answered, api } from '../../../api/client.ts'
import { useWorkspace } from '../../../api/workspace.ts'
import { findCrossing, type Shape } from '../../../map/areas.ts'
import { ChooseRecord } from '../../../parts/choose-record.tsx'
import { useEscape, useReturnFocus } from '../../../parts/focus.ts'
import { ActionButton, Field, FieldErrorText, IconButton } from '../../../parts/parts.tsx'
import { fenceEditorTexts as de } from '../../../texts/de/fence-editor.ts'
import { fenceEditorTexts as en, type FenceEditorTexts } from '../../../texts/en/fence-editor.ts'
import { useFormat, useOwnTexts, useTexts } from '../../../texts/texts.tsx'
import { useRecordDraft } from '../../records/record-draft.ts'
import { RecordFields, useLeaving } from '../../records/record-form.tsx'
import { CORNERS, draftOf, readDraft, type ShapeDraft, shapeOf } from './draft.ts'
import type { Fence } from './fence-queries.ts'
import { HistoryButtons, useHistory } from './history.tsx'
import { useNamedLine } from './named-line.ts'
import { useDrawing } from './use-drawing.ts'
import { circleInView } from './view.ts'

const TEXTS = { en, de }

interface Props {
  /** Null for a new one. */
  fence: Fence | null
  map: MapLibre | null
  onDone: (fenceId: string | null) => void
}

const path = (id: string) => ({ params: { path: { id } } })
const readFence = async (id: string) =>
  (await answered(api.GET('/api/v3/geofence/{id}', path(id)))).data as Fence

const valuesOf = (fence: Fence | null) => ({
  name: fence?.name ?? '',
  hubId: fence?.hubId ?? '',
  shape: draftOf(fence?.shape ?? null),
})

/** A geofence as fields and on the map: a change of one changes the other. */
export default function FenceEditor({ fence, map, onDone }: Props) {
  const texts = useTexts()
  const format = useFormat()
  const { may } = useWorkspace()
  const queries = useQueryClient()
  const t = texts.fences
  const own = useOwnTexts(TEXTS)
  const draft = useRecordDraft(fence, valuesOf, readFence)
  const { values, set, field } = draft
  const { shape } = values
  const history = useHistory(shape, set('shape'))
  /** The error about an empty field disappears when the map fills the field. */
  const [filled, setFilled] = useState(0)
  /** Whether somebody has just tried to remove one of three corners. */
  const [isFewest, setFewest] = useState(false)
  const change: typeof history.change = (next, field) => {
    setFewest(false)
    history.change(next, field)
  }
  const {
    drawing,
    shape: drawn,
    isStale,
    isHalf,
  } = useDrawing(map, shape, {
    onShape: next => {
      if (!drawn) setFilled(filled + 1)
      change(draftOf(next))
    },
    onFewest: () => setFewest(true),
  })
  const type = (next: Partial<ShapeDraft>) => change({ ...shape, ...next }, Object.keys(next).join())
  /** The last input of the other kind of shape. */
  const left = useRef<Partial<Record<Shape['type'], ShapeDraft>>>({})
  const choose = (kind: Shape['type']) => {
    left.current[shape.kind] = shape
    change(left.current[kind] ?? { ...draftOf(null), kind })
  }
  const begin = (map: MapLibre) => {
    if (!drawn) setFilled(filled + 1)
    const circle = draftOf(circleInView(map))
    change({ ...circle, radius: shape.radius || circle.radius })
  }
  const crossing = useMemo(() => drawn && findCrossing(drawn), [drawn])
  const takeTheirs = () => {
    if (draft.theirs?.shape) change(draft.theirs.shape)
    draft.takeTheirs()
  }
  const named = useNamedLine()
  const save = () =>
    store().catch(error => {
      named.hear(error)
      throw error
    })
  const store = async () => {
    const body = { name: values.name, hubId: values.hubId || null, shape: readDraft(shape, own.badCorner) }
    // The server treats a geofence with a new shape as a new geofence. An unchanged shape is not sent.
    const request = fence
      ? api.PATCH('/api/v3/geofence/{id}', { ...path(fence._id), body: draft.changesOf(body) })
      : api.POST('/api/v3/geofence', { body })
    const { data } = await answered<{ data: { _id: string } }>(request)
    // The map shows it before its panel opens.
    await queries.invalidateQueries({ queryKey: ['geofences', 'all'] })
    leaving.letGo()
    onDone(data._id)
  }
  const remove = fence &&
    may('delete/geofence') && {
      ask: t.deleteAsk(fence.name),
      run: async () => {
        await answered(api.DELETE('/api/v3/geofence/{id}', path(fence._id)))
        await queries.invalidateQueries({ queryKey: ['geofences', 'all'] })
      },
    }
  const back = () => onDone(fence?._id ?? null)
  const leaving = useLeaving(draft.isChanged || isHalf, back)
  useReturnFocus()
  useEscape(() => {
    // An unfinished shape is discarded first.
    if (!drawing.current?.giveUp()) leaving.leave()
  })
  const title = fence ? t.changeOf(fence.name) : texts.kinds.geofences.create
  return (
    <aside className="panel" aria-label={title}>
      <header className="panel-head">
        <h2>{title}</h2>
        <IconButton icon="close" label={texts.form.close} onPress={leaving.leave} />
      </header>
      <RecordFields
        name="geofences"
        onClose={() => onDone(null)}
        draft={{ ...draft, takeTheirs }}
        save={save}
        onSaved={() => {}}
        remove={remove || undefined}
        actions={<ActionButton onPress={leaving.leave}>{texts.form.cancel}</ActionButton>}
        leaving={leaving}
      >
        <Field label={texts.records.name} {...field('name')} isRequired autoFocus />
        {may('view/hub') && <ChooseRecord kind="hubs" label={texts.subject.hub} {...field('hubId')} />}
        <div className="shape-kinds">
          <ToggleButtonGroup
            className="switch"
            aria-label={t.shape}
            selectionMode="single"
            disallowEmptySelection
            selectedKeys={[shape.kind]}
            onSelectionChange={keys => choose([...keys][0] as Shape['type'])}
          >
            <ToggleButton id="circle">{t.circle}</ToggleButton>
            <ToggleButton id="polygon">{t.polygon}</ToggleButton>
          </ToggleButtonGroup>
          <HistoryButtons
            undo={history.undo}
            redo={history.redo}
            stepBack={() => drawing.current?.stepBack() ?? false}
            fields="shape."
          />
        </div>
        <p className="hint" role="status">
          {crossing && <span className="bad">{own.crosses(crossing[0] + 1, crossing[1] + 1)} </span>}
          {isFewest ? own.fewest : isStale ? own.stale : sayHow(own, shape)}
        </p>
        {shape.kind === 'circle' ? (
          <div className="circle-fields">
            {map && <ActionButton onPress={() => begin(map)}>{own.middleOfMap}</ActionButton>}
            <Fragment key={filled}>
              <Field
                label={texts.kinds.hubs.lat}
                name="shape.center.lat"
                inputMode="decimal"
                value={shape.lat}
                onChange={lat => type({ lat })}
                isRequired
              />
              <Field
                label={texts.kinds.hubs.lng}
                name="shape.center.lng"
                inputMode="decimal"
                value={shape.lng}
                onChange={lng => type({ lng })}
                isRequired
              />
              <Field
                label={own.radius}
                name="shape.radius"
                inputMode="decimal"
                value={shape.radius}
                onChange={radius => type({ radius })}
                hint={
                  format.units === 'imperial' && drawn?.type === 'circle'
                    ? own.about(format.distance(drawn.radius))
                    : undefined
                }
                isRequired
              />
            </Fragment>
          </div>
        ) : (
          <TextField
            key={filled}
            className="field"
            name={CORNERS}
            value={shape.corners}
            onChange={corners => type({ corners })}
            isRequired
          >
            <Label>{own.corners}</Label>
            <TextArea rows={5} spellCheck="false" onFocus={named.onFocus} />
            <Text slot="description" className="hint">
              {own.cornersHint}
            </Text>
            <FieldErrorText />
          </TextField>
        )}
      </RecordFields>
    </aside>
  )
}

function sayHow(own: FenceEditorTexts, shape: ShapeDraft): string {
  const isCircle = shape.kind === 'circle'
  if (shapeOf(shape)) return isCircle ? own.adjustCircle : own.adjustPolygon
  return isCircle ? own.drawCircle : own.drawPolygon
}
