import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { answered, api } from '../../api/client.ts'
import { ME, useWorkspace } from '../../api/workspace.ts'
import { FieldForm } from '../../parts/field-form.tsx'
import { useFormErrors } from '../../parts/form-errors.ts'
import { ActionButton, Field, Trouble } from '../../parts/parts.tsx'
import { useUnsaved } from '../../parts/unsaved.ts'
import { accountTexts as de } from '../../texts/de/account.ts'
import { accountTexts as en } from '../../texts/en/account.ts'
import { useOwnTexts, useTexts } from '../../texts/texts.tsx'
import { OwnKeys } from './own-keys.tsx'
import { SecondFactor } from './second-factor.tsx'
import { Sessions } from './sessions.tsx'

const TEXTS = { en, de }

/** The own name, password, second factor, sessions and API keys. */
export default function Account() {
  const { user } = useWorkspace()
  return (
    <div className="sheets">
      <OwnName />
      {user.hasPassword ? (
        <>
          <Password />
          <SecondFactor />
        </>
      ) : (
        <NoPassword />
      )}
      <Sessions />
      <OwnKeys />
    </div>
  )
}

/** Of an account that single sign-on alone opens: a password or a code that nobody asks for would protect nothing. */
function NoPassword() {
  const t = useOwnTexts(TEXTS)
  return (
    <section className="sheet stack" aria-labelledby="no-password">
      <h2 id="no-password">{t.password}</h2>
      <p>{t.noPassword}</p>
    </section>
  )
}

function OwnName() {
  const texts = useTexts()
  const t = useOwnTexts(TEXTS)
  const { user } = useWorkspace()
  const queries = useQueryClient()
  const state = useFormErrors()
  const { errors, clear, show } = state
  const [name, setName] = useState(user.name)
  useUnsaved(name !== user.name)
  const save = useMutation({
    mutationFn: () => answered(api.PATCH('/api/v3/user', { body: { name } })),
    onMutate: clear,
    onError: show,
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['users'] })
      return queries.invalidateQueries({ queryKey: ME })
    },
  })
  return (
    <FieldForm state={state} className="sheet stack" onSubmit={() => save.mutate()}>
      <h2>{user.email}</h2>
      <Field label={t.name} name="name" value={name} onChange={setName} hint={t.nameHint} isRequired />
      {errors.hasOthers && <Trouble error={save.error} isDeed />}
      <div className="row-of-buttons">
        <ActionButton type="submit" isPending={save.isPending}>
          {texts.form.save}
        </ActionButton>
        <span role="status">{save.isSuccess && name === user.name && t.saved}</span>
      </div>
    </FieldForm>
  )
}

/** The server's least length of a password. */
const MIN_PASSWORD = 10

const EMPTY = { currentPassword: '', newPassword: '' }

function Password() {
  const t = useOwnTexts(TEXTS)
  const queries = useQueryClient()
  const { user } = useWorkspace()
  const state = useFormErrors()
  const { errors, clear, show } = state
  const [values, setValues] = useState(EMPTY)
  const change = useMutation({
    mutationFn: () => answered(api.POST('/api/v3/auth/change-password', { body: values })),
    onMutate: clear,
    onError: show,
    onSuccess: () => {
      setValues(EMPTY)
      return queries.invalidateQueries({ queryKey: ['sessions'] })
    },
  })
  const field = (name: keyof typeof EMPTY) => ({
    name,
    type: 'password',
    value: values[name],
    onChange: (value: string) => setValues({ ...values, [name]: value }),
  })
  const instead = useMemo(() => ({ currentPassword: t.wrong }), [t])
  return (
    <FieldForm state={state} instead={instead} className="sheet stack" onSubmit={() => change.mutate()}>
      <h2>{t.password}</h2>
      <p className="hint">{t.passwordLead}</p>
      {/* A password manager needs to know whose password it changes. */}
      <input
        className="unseen"
        type="text"
        autoComplete="username"
        value={user.email ?? ''}
        readOnly
        tabIndex={-1}
        aria-hidden="true"
      />
      <Field label={t.current} {...field('currentPassword')} autoComplete="current-password" isRequired />
      <Field
        label={t.next}
        {...field('newPassword')}
        autoComplete="new-password"
        hint={t.nextHint}
        validate={text => (text.length < MIN_PASSWORD ? t.nextHint : null)}
        isRequired
      />
      {errors.hasOthers && <Trouble error={change.error} isDeed />}
      <div className="row-of-buttons">
        <ActionButton type="submit" isPending={change.isPending}>
          {t.change}
        </ActionButton>
        <span role="status">{change.isSuccess && t.changed}</span>
      </div>
    </FieldForm>
  )
}
