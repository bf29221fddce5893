import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Checkbox } from 'react-aria-components'
import { answered, api } from '../../../api/client.ts'
import type { paths } from '../../../api/interface.d.ts'
import { ME, useWorkspace } from '../../../api/workspace.ts'
import { serverNow } from '../../../clock.ts'
import { FieldForm } from '../../../parts/field-form.tsx'
import { useFormErrors } from '../../../parts/form-errors.ts'
import { Icon } from '../../../parts/icon.tsx'
import { ActionButton, Choose, Field, Trouble } from '../../../parts/parts.tsx'
import { readNumber } from '../../../parts/read-number.ts'
import { useUnsaved } from '../../../parts/unsaved.ts'
import { organizationTexts as de } from '../../../texts/de/organization.ts'
import { organizationTexts as en } from '../../../texts/en/organization.ts'
import { useLocale, useOwnTexts, useTexts } from '../../../texts/texts.tsx'
import { ChooseName } from './choose-name.tsx'
import { currencyNames, languageNames, zoneNames } from './names.ts'
import { ORGANIZATION, type Organization } from './query.ts'

const TEXTS = { en, de }

/** The server's defaults. */
const USUAL_OFFLINE_MINUTES = 10

type Body = NonNullable<paths['/api/v3/organization']['patch']['requestBody']>['content']['application/json']

const valuesOf = (organization: Organization, language: string | null) => ({
  name: organization.name,
  logo: organization.logo ?? '',
  timeZone: organization.timeZone,
  language: language ?? '',
  currency: organization.currency,
  offline: String(organization.settings.offlineAfterMinutes ?? USUAL_OFFLINE_MINUTES),
  accuracy: String(organization.settings.maxAccuracy ?? ''),
  teamPositions: organization.settings.teamPositions ?? false,
})

type Values = ReturnType<typeof valuesOf>

/** The fields that were changed, as the API takes them. */
function bodyOf(values: Values, first: Values): Body {
  const isChanged = (name: keyof Values) => values[name] !== first[name]
  const settings = {
    // The form is not sent without it.
    ...(isChanged('offline') && { offlineAfterMinutes: readNumber(values.offline) as number }),
    ...(isChanged('accuracy') && {
      maxAccuracy: readNumber(values.accuracy),
    }),
    ...(isChanged('teamPositions') && { teamPositions: values.teamPositions }),
  }
  return {
    ...(isChanged('name') && { name: values.name }),
    ...(isChanged('logo') && { logo: values.logo.trim() || null }),
    ...(isChanged('timeZone') && { timeZone: values.timeZone }),
    ...(isChanged('language') && { language: values.language || null }),
    ...(isChanged('currency') && { currency: values.currency }),
    ...(Object.keys(settings).length > 0 && { settings }),
  }
}

interface Props {
  organization: Organization
  /** Whether the form was just saved, and begins again. */
  wasSaved: boolean
  onSaved: () => void
}

export function OrganizationForm({ organization, wasSaved, onSaved }: Props) {
  const texts = useTexts()
  const t = useOwnTexts(TEXTS)
  const locale = useLocale()
  const queries = useQueryClient()
  const { may, user } = useWorkspace()
  const maySave = may('update/organization')
  const state = useFormErrors()
  const { errors, clear, show } = state
  const [first] = useState(() => valuesOf(organization, user.organization.language))
  const [values, setValues] = useState(first)
  const body = bodyOf(values, first)
  const isChanged = Object.keys(body).length > 0
  const letGo = useUnsaved(maySave && isChanged)
  const save = useMutation({
    mutationFn: () => answered(api.PATCH('/api/v3/organization', { body })),
    onMutate: clear,
    onError: show,
    onSuccess: async ({ data }) => {
      letGo()
      // The language and the zone of the whole page may change.
      await queries.invalidateQueries({ queryKey: ME })
      queries.setQueryData(ORGANIZATION, data)
      onSaved()
    },
  })
  const set =
    <Name extends keyof Values>(name: Name) =>
    (value: Values[Name]) =>
      setValues(now => ({ ...now, [name]: value }))
  const field = (name: Exclude<keyof Values, 'teamPositions'>, path: string = name) => ({
    name: path,
    value: values[name],
    onChange: set(name),
    isReadOnly: !maySave,
  })
  const now = new Intl.DateTimeFormat(locale, {
    dateStyle: 'medium',
    timeStyle: 'short',
    timeZone: values.timeZone,
  }).format(serverNow())
  return (
    <FieldForm state={state} className="sheet stack" onSubmit={() => isChanged && save.mutate()}>
      {!maySave && <p className="note">{t.readOnly}</p>}
      <Field label={t.name} {...field('name')} isRequired />
      <ChooseName
        label={t.timeZone}
        value={values.timeZone}
        onChange={set('timeZone')}
        names={zoneNames(locale, values.timeZone)}
        hint={t.timeZoneHint(now)}
        isDisabled={!maySave}
      />
      <div className="hinted">
        <Choose
          label={t.language}
          value={values.language}
          onChange={maySave ? set('language') : () => {}}
          choices={[{ id: '', name: t.browserLanguage }, ...languageNames(locale, first.language)]}
        />
        <p className="hint">{t.languageHint}</p>
      </div>
      <ChooseName
        label={t.currency}
        value={values.currency}
        onChange={set('currency')}
        names={currencyNames(locale, values.currency)}
        isDisabled={!maySave}
      />
      <Field label={t.logo} {...field('logo')} inputMode="url" hint={t.logoHint} />
      <Field
        label={t.offline}
        {...field('offline', 'settings.offlineAfterMinutes')}
        inputMode="decimal"
        isRequired
      />
      <Field
        label={t.accuracy}
        {...field('accuracy', 'settings.maxAccuracy')}
        inputMode="decimal"
        hint={t.accuracyHint}
      />
      <Checkbox
        className="check"
        isSelected={values.teamPositions}
        isReadOnly={!maySave}
        onChange={set('teamPositions')}
      >
        <span className="box">
          <Icon name="check" />
        </span>
        {t.teamPositions}
      </Checkbox>
      {errors.hasOthers && <Trouble error={save.error} isDeed />}
      {maySave && (
        <div className="row-of-buttons">
          <ActionButton looks="primary" type="submit" isPending={save.isPending} isDisabled={!isChanged}>
            {save.isPending ? texts.form.saving : texts.form.save}
          </ActionButton>
          <span role="status">{wasSaved && !isChanged && t.saved}</span>
        </div>
      )}
    </FieldForm>
  )
}
