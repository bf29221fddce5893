import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useNavigate } from 'react-router'
import { answered, api } from '../../api/client.ts'
import type { components } from '../../api/interface.d.ts'
import { useRoles } from '../../api/roles.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { ChooseRecords } from '../../parts/choose-records.tsx'
import { FieldForm } from '../../parts/field-form.tsx'
import { useFormErrors } from '../../parts/form-errors.ts'
import { Modal } from '../../parts/modal.tsx'
import { ActionButton, Choose, Copyable, Field, Trouble } from '../../parts/parts.tsx'
import { Question } from '../../parts/question.tsx'
import { peopleTexts as de } from '../../texts/de/people.ts'
import { peopleTexts as en } from '../../texts/en/people.ts'
import { useFormat, useOwnTexts, useTexts } from '../../texts/texts.tsx'
import { urls } from '../../urls.ts'
import { useRecordDraft } from './record-draft.ts'
import { RecordForm } from './record-form.tsx'

const TEXTS = { en, de }

type User = components['schemas']['User']
type Invited = components['schemas']['InvitedUser']
type Asked = 'suspend' | 'renew' | null

const path = (id: string) => ({ params: { path: { id } } })
/** The server's least length of a password. */
const MIN_PASSWORD = 10
const USUAL_ROLE = 'Field user'

const draftOf = (user: User | null) => ({
  name: user?.name ?? '',
  email: user?.email ?? '',
  roleId: user?.role._id ?? '',
  hubId: user?.hubId ?? [],
})

const findUsual = (roles: readonly { _id: string; name: string }[]) =>
  roles.find(({ name }) => name === USUAL_ROLE)?._id ?? ''

interface Props {
  user: User | null
  read: (id: string) => Promise<User>
  onClose: () => void
}

/** Changes a user, or invites one: then the link is shown, once, unless the server mails it. */
export function UserForm({ user, read, onClose }: Props) {
  const texts = useTexts()
  const t = useOwnTexts(TEXTS)
  const { may, user: self } = useWorkspace()
  const queries = useQueryClient()
  const { data: roles = [], refetch, isLoading } = useRoles()
  const draft = useRecordDraft(user, draftOf, read)
  const { values, field } = draft
  const [asking, setAsking] = useState<Asked>(null)
  const [invited, setInvited] = useState<Invited | null>(null)
  const [isResetting, setResetting] = useState(false)
  const roleId = values.roleId || findUsual(roles)
  const setStatus = useMutation({
    mutationFn: (status: 'active' | 'suspended') =>
      answered(api.PATCH('/api/v3/user/{id}', { ...path(user?._id ?? ''), body: { status } })),
    onSettled: () => {
      setAsking(null)
      return queries.invalidateQueries({ queryKey: ['users'] })
    },
  })
  const renew = useMutation({
    mutationFn: async () =>
      (await answered(api.POST('/api/v3/user/{id}/invitation', path(user?._id ?? '')))).data,
    onSettled: () => setAsking(null),
    onSuccess: setInvited,
  })
  if (invited) return <InvitationLink invited={invited} onClose={onClose} />
  if (user && isResetting) return <ResetPassword user={user} onClose={() => setResetting(false)} />
  const save = async () => {
    if (user) {
      const { roleId, hubId } = draft.changesOf({ roleId: values.roleId, hubId: values.hubId })
      const body = { ...(roleId !== undefined && { roleId }), ...(hubId !== undefined && { hubId }) }
      return answered(api.PATCH('/api/v3/user/{id}', { ...path(user._id), body }))
    }
    // Somebody may be quicker than the list of roles.
    const given = roleId || findUsual((await refetch()).data ?? [])
    const body = { name: values.name, email: values.email, roleId: given, hubId: values.hubId }
    setInvited((await answered(api.POST('/api/v3/users/invite', { body }))).data)
  }
  const isSelf = user?._id === self._id
  const mayChange = user !== null && may('update/user') && !isSelf
  const isMailed = user?.invitation?.mail != null
  const question = {
    suspend: {
      ask: t.suspendAsk(user?.name ?? ''),
      yes: t.suspend,
      run: () => setStatus.mutate('suspended'),
    },
    renew: {
      ask: isMailed ? t.renewMailAsk(user?.name ?? '') : t.renewAsk(user?.name ?? ''),
      yes: isMailed ? t.renewMail : t.renew,
      run: () => renew.mutate(),
    },
  }
  const asked = asking && question[asking]
  const remove =
    user && may('delete/user') && !isSelf
      ? {
          ask: t.remove(user.name),
          run: () => answered(api.DELETE('/api/v3/user/{id}', path(user._id))),
        }
      : undefined
  const error = setStatus.error ?? renew.error
  return (
    <RecordForm
      name="users"
      title={user?.name ?? texts.kinds.users.create}
      draft={draft}
      onClose={onClose}
      save={may(user ? 'update/user' : 'create/user') ? save : undefined}
      onSaved={user ? undefined : () => {}}
      remove={remove}
      actions={
        <>
          {mayChange && user.status !== 'suspended' && (
            <ActionButton onPress={() => setAsking('suspend')}>{t.suspend}</ActionButton>
          )}
          {mayChange && user.status === 'suspended' && (
            <ActionButton isPending={setStatus.isPending} onPress={() => setStatus.mutate('active')}>
              {t.activate}
            </ActionButton>
          )}
        </>
      }
      asked={
        asked && (
          <Question
            ask={asked.ask}
            yes={asked.yes}
            isPending={setStatus.isPending || renew.isPending}
            onYes={asked.run}
            onNo={() => setAsking(null)}
          />
        )
      }
    >
      {user ? (
        <dl className="facts">
          <Fact name={t.email}>{user.email}</Fact>
          <Fact name={t.status}>{t.statuses[user.status]}</Fact>
          {user.invitation && <Fact name={t.mail}>{t.mails[user.invitation.mail ?? 'open']}</Fact>}
        </dl>
      ) : (
        <>
          <Field label={t.email} {...field('email')} inputMode="email" isRequired autoFocus />
          <Field label={texts.records.name} {...field('name')} isRequired />
        </>
      )}
      {(roles.length > 0 || isLoading) && (
        <Choose
          label={t.role}
          name="roleId"
          value={roleId}
          onChange={draft.set('roleId')}
          choices={roles.map(({ _id, name }) => ({ id: _id, name }))}
        />
      )}
      <div className="hinted">
        <ChooseRecords kind="hubs" label={t.hubs} {...field('hubId')} />
        <p className="hint">{t.hubsHint}</p>
      </div>
      {error && <Trouble error={error} isDeed />}
      {user && (
        <Ways
          user={user}
          isSelf={isSelf}
          onRenew={() => setAsking('renew')}
          onReset={() => setResetting(true)}
        />
      )}
    </RecordForm>
  )
}

function Fact({ name, children }: { name: string; children: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

/** Further things to do with a user, and further pages about them. */
function Ways(props: { user: User; isSelf: boolean; onRenew: () => void; onReset: () => void }) {
  const { user, isSelf, onRenew, onReset } = props
  const t = useOwnTexts(TEXTS)
  const { may } = useWorkspace()
  const navigate = useNavigate()
  const go = (to: string) => () => void navigate(to)
  const isJoined = user.status !== 'invited'
  return (
    <>
      {isSelf && <p className="hint">{t.self}</p>}
      <div className="row-of-buttons">
        {isSelf && (
          <ActionButton looks="quiet" icon="user" onPress={go(urls.settingsOf('account'))}>
            {t.toAccount}
          </ActionButton>
        )}
        {user.status === 'invited' && may('create/user') && (
          <ActionButton looks="quiet" icon="link" onPress={onRenew}>
            {user.invitation?.mail == null ? t.renew : t.renewMail}
          </ActionButton>
        )}
        {isJoined && !isSelf && may('update/user') && (
          <ActionButton looks="quiet" icon="undo" onPress={onReset}>
            {t.reset}
          </ActionButton>
        )}
        {may('view/audit') && (
          <ActionButton
            looks="quiet"
            icon="history"
            onPress={go(`${urls.settingsOf('audit-log')}?user=${user._id}`)}
          >
            {t.history}
          </ActionButton>
        )}
      </div>
    </>
  )
}

function InvitationLink({ invited, onClose }: { invited: Invited; onClose: () => void }) {
  const format = useFormat()
  const t = useOwnTexts(TEXTS)
  const { token, expiresAt } = invited.invitation
  return (
    <Modal title={t.invited(invited.name)} onClose={onClose} isKept hasDone>
      <div className="stack">
        <p>{token === undefined ? t.mailed(invited.email) : t.invitedLead}</p>
        {token !== undefined && (
          <Copyable value={`${location.origin}${urls.invitation(token)}`} label={t.link} autoFocus />
        )}
        <p className="hint">{t.validUntil(format.dateTime(expiresAt))}</p>
      </div>
    </Modal>
  )
}

function ResetPassword({ user, onClose }: { user: User; onClose: () => void }) {
  const texts = useTexts()
  const t = useOwnTexts(TEXTS)
  const state = useFormErrors()
  const { errors, clear, show } = state
  const [newPassword, setPassword] = useState('')
  const reset = useMutation({
    mutationFn: () =>
      answered(api.POST('/api/v3/user/{id}/reset-password', { ...path(user._id), body: { newPassword } })),
    onMutate: clear,
    onError: show,
  })
  return (
    <Modal title={t.resetTitle(user.name)} onClose={onClose}>
      {reset.isSuccess ? (
        <div className="stack">
          <p className="good" role="status">
            {t.resetDone(user.name)}
          </p>
          <div className="row-of-buttons">
            <ActionButton autoFocus onPress={onClose}>
              {texts.setup.done}
            </ActionButton>
          </div>
        </div>
      ) : (
        <FieldForm state={state} className="stack" onSubmit={() => reset.mutate()}>
          <p className="hint">{t.resetLead}</p>
          <Field
            label={t.newPassword}
            name="newPassword"
            value={newPassword}
            onChange={setPassword}
            hint={t.passwordHint}
            validate={text => (text.length < MIN_PASSWORD ? t.passwordHint : null)}
            // It is read out or written down for somebody else.
            type="text"
            autoComplete="off"
            spellCheck="false"
            isRequired
            autoFocus
          />
          {errors.hasOthers && <Trouble error={reset.error} isDeed />}
          <div className="row-of-buttons">
            <ActionButton looks="primary" type="submit" isPending={reset.isPending}>
              {t.reset}
            </ActionButton>
            <ActionButton onPress={onClose}>{texts.form.cancel}</ActionButton>
          </div>
        </FieldForm>
      )}
    </Modal>
  )
}
