import { useState } from 'react'
import { answered, api } from '../../api/client.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { serverNow } from '../../clock.ts'
import { ChooseRecord } from '../../parts/choose-record.tsx'
import { Choose, Field } from '../../parts/parts.tsx'
import { readNumber } from '../../parts/read-number.ts'
import { TimeChoice } from '../../parts/time-choice.tsx'
import { useFormat, useLocale, useTexts } from '../../texts/texts.tsx'
import { ChooseData } from '../data/choose-data.tsx'
import { NO_PLACE, placeOf } from '../place-draft.ts'
import { PlaceField } from '../place-field.tsx'
import { useRecordDraft } from '../records/record-draft.ts'
import { RecordForm } from '../records/record-form.tsx'
import { ChooseName } from '../settings/organization/choose-name.tsx'
import { zoneNames } from '../settings/organization/names.ts'
import { ChoosePerson } from '../tasks/choose-person.tsx'
import { firstWindow } from '../tasks/task-draft.ts'
import { isRead, useFlows } from '../tasks/task-queries.ts'
import { Preview } from './preview.tsx'
import { RepeatFields } from './repeat-fields.tsx'
import { readRepeat, repeatDraftOf, type Schedule, sayRepeat } from './repeats.ts'
import { useScheduleTexts } from './texts.ts'

const path = (id: string) => ({ params: { path: { id } } })
export const readSchedule = async (id: string): Promise<Schedule> =>
  (await answered(api.GET('/api/v3/task/schedule/{id}', path(id)))).data

const MINUTE_S = 60
const DAY_MS = 86_400_000
/** The minutes of a task whose schedule says nothing about them. */
const USUAL_MINUTES = 60

const valuesIn = (first: { startTime: string; timeZone: string }) => (schedule: Schedule | null) => ({
  name: schedule?.name ?? '',
  repeat: repeatDraftOf(schedule?.repeat),
  startTime: schedule?.startTime ?? first.startTime,
  endTime: schedule?.endTime ?? '',
  timezone: schedule?.timezone ?? first.timeZone,
  duration: schedule ? String((schedule.duration ?? 0) / MINUTE_S) : String(USUAL_MINUTES),
  flowId: schedule?.flowId ?? '',
  dataIds: schedule?.dataIds ?? [],
  hubId: schedule?.hubId ?? '',
  teamId: schedule?.teamId ?? '',
  assigneeId: schedule?.assigneeId ?? '',
  vehicleId: schedule?.vehicleId ?? '',
  location: schedule?.location
    ? { ...schedule.location, address: schedule.location.address ?? '' }
    : NO_PLACE,
})

/** The seconds of typed minutes, whole ones; none is null. */
function readSeconds(minutes: string): number | null {
  const seconds = readNumber(minutes, MINUTE_S)
  return (typeof seconds === 'number' ? Math.round(seconds) : seconds) || null
}

const isZone = (timeZone: string): boolean => {
  try {
    new Intl.DateTimeFormat('en', { timeZone })
    return timeZone !== ''
  } catch {
    return false
  }
}

interface Props {
  schedule: Schedule | null
  onClose: () => void
}

/** The form of a schedule, once the flows are there that it offers. */
export function ScheduleForm(props: Props) {
  return isRead(useFlows()) ? <Loaded {...props} /> : null
}

/** It reads as a sentence, with its next times as one types. */
function Loaded({ schedule, onClose }: Props) {
  const texts = useTexts()
  const t = useScheduleTexts()
  const format = useFormat()
  const locale = useLocale()
  const { may, timeZone } = useWorkspace()
  const flows = useFlows()
  const [first] = useState(() => {
    const today = format.startOfDay()
    return { ...firstWindow({ from: today, to: today + DAY_MS }, serverNow()), timeZone }
  })
  const draft = useRecordDraft(schedule, valuesIn(first), readSchedule)
  const { values, field, set } = draft
  const { repeat, startTime, endTime, timezone, location } = values
  const zone = isZone(timezone) ? timezone : timeZone
  const timing = { repeat: readRepeat(repeat), startTime, endTime: endTime || null, timezone: zone }
  const maySave = may(schedule ? 'update/task-schedule' : 'create/task-schedule')
  const save = async () => {
    const body = {
      name: values.name,
      repeat: timing.repeat,
      startTime,
      endTime: endTime || null,
      timezone,
      duration: readSeconds(values.duration),
      dataIds: values.dataIds,
      hubId: values.hubId || null,
      teamId: values.teamId || null,
      assigneeId: values.assigneeId || null,
      vehicleId: values.vehicleId || null,
      location: placeOf(location),
    }
    const flow = values.flowId ? { flowId: values.flowId } : {}
    if (!schedule) return answered(api.POST('/api/v3/task/schedule', { body: { ...body, ...flow } }))
    return answered(
      api.PATCH('/api/v3/task/schedule/{id}', {
        ...path(schedule._id),
        body: draft.changesOf({ ...body, ...flow }),
      }),
    )
  }
  const remove = schedule &&
    may('delete/task-schedule') && {
      ask: t.deleteAsk(schedule.name),
      run: () => answered(api.DELETE('/api/v3/task/schedule/{id}', path(schedule._id))),
    }
  return (
    <RecordForm
      name="schedules"
      title={schedule?.name ?? t.create}
      draft={draft}
      onClose={onClose}
      save={maySave ? save : undefined}
      remove={remove || undefined}
      wide
    >
      <Field label={t.name} {...field('name')} isRequired autoFocus={!schedule} />
      <RepeatFields value={repeat} onChange={set('repeat')} />
      <div className="three">
        <TimeChoice label={t.from} {...field('startTime')} timeZone={zone} isRequired />
        <TimeChoice label={t.until} {...field('endTime')} timeZone={zone} />
        <ChooseName
          label={t.zone}
          {...field('timezone')}
          names={zoneNames(locale, timezone)}
          isDisabled={!maySave}
        />
      </div>
      <p className="schedule-sentence" role="status">
        {startTime && sayRepeat(timing, t, locale)}
      </p>
      {startTime && <Preview timing={timing} isNew={schedule === null} />}
      <div className="two">
        <Field label={t.lasts} {...field('duration')} inputMode="numeric" />
        {flows.length > 1 && (
          <Choose
            label={t.flow}
            {...field('flowId')}
            choices={[
              ...(schedule ? [] : [{ id: '', name: t.usualFlow }]),
              ...flows.map(({ _id, name }) => ({ id: _id, name })),
            ]}
          />
        )}
        <ChoosePerson label={t.assignee} {...field('assigneeId')} />
        {may('view/vehicle') && <ChooseRecord kind="vehicles" label={t.vehicle} {...field('vehicleId')} />}
        {may('view/team') && <ChooseRecord kind="teams" label={t.team} {...field('teamId')} />}
        {may('view/hub') && <ChooseRecord kind="hubs" label={texts.subject.hub} {...field('hubId')} />}
      </div>
      <PlaceField label={t.place} {...field('location')} />
      {may('view/data') && <ChooseData label={t.records} {...field('dataIds')} />}
    </RecordForm>
  )
}
