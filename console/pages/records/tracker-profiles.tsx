import { useLocation } from 'react-router'
import { answered, api } from '../../api/client.ts'
import { useTexts } from '../../texts/texts.tsx'
import { BuiltInDialog, ProfileForm, readProfile } from '../profiles/profile-dialog.tsx'
import { isSample } from '../profiles/samples.ts'
import { useProfileTexts } from '../profiles/texts.ts'
import { RecordsPage } from './records-page.tsx'

export function Component() {
  const texts = useTexts()
  const t = useProfileTexts()
  // A message that came in on a connection, of which somebody makes a profile.
  const { state } = useLocation()
  return (
    <RecordsPage
      kind="tracker-profiles"
      read={(query, signal) => answered(api.GET('/api/v3/tracker-profiles', { params: { query }, signal }))}
      columns={[
        { id: 'name', title: texts.records.name, sort: 'name', cell: one => one.name },
        { id: 'origin', title: t.origin, cell: one => (one.isBuiltIn ? t.builtIn : t.own) },
        { id: 'topic', title: t.topic, cell: one => <code>{one.topic}</code>, minor: true },
      ]}
      readOne={readProfile}
      form={(profile, onClose) =>
        profile?.isBuiltIn ? (
          <BuiltInDialog profile={profile} onClose={onClose} />
        ) : (
          <ProfileForm profile={profile} from={isSample(state) ? state : null} onClose={onClose} />
        )
      }
    />
  )
}
