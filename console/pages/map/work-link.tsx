import { Link } from 'react-router'
import { Icon } from '../../parts/icon.tsx'
import { subjectWorkTexts as de } from '../../texts/de/subject-work.ts'
import { subjectWorkTexts as en } from '../../texts/en/subject-work.ts'
import { useFormat, useOwnTexts } from '../../texts/texts.tsx'
import { urls } from '../../urls.ts'
import type { Work } from './subject-work.ts'

const TEXTS = { en, de }

/** The task of a subject in its panel: under way, or the next one of today. */
export default function WorkLink({ task }: { task: NonNullable<Work['task']> }) {
  const t = useOwnTexts(TEXTS)
  const format = useFormat()
  const { _id, name, isUnderWay, startTime } = task
  return (
    <p className="panel-work">
      <span className="hint">{isUnderWay || !startTime ? t.underWay : t.next(format.clock(startTime))}</span>
      <Link to={urls.record('tasks', _id)}>
        <Icon name="calendar" />
        {name}
      </Link>
    </p>
  )
}
