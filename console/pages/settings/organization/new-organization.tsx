import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Checkbox } from 'react-aria-components'
import { answered, api } from '../../../api/client.ts'
import { readList } from '../../../api/lists.ts'
import { useWorkspace } from '../../../api/workspace.ts'
import { FieldForm } from '../../../parts/field-form.tsx'
import { useFormErrors } from '../../../parts/form-errors.ts'
import { Icon } from '../../../parts/icon.tsx'
import { Modal } from '../../../parts/modal.tsx'
import { ActionButton, Field, Trouble } from '../../../parts/parts.tsx'
import { expectEnd, startSession } from '../../../session.ts'
import { organizationTexts as de } from '../../../texts/de/organization.ts'
import { organizationTexts as en } from '../../../texts/en/organization.ts'
import { useOwnTexts } from '../../../texts/texts.tsx'

const TEXTS = { en, de }
/** No other role may have this name. */
const OWNER = 'Owner'

/**
 * Whether a new organization takes over hubs: `yes` and `no` are certain, and `maybe` is where the account owns another
 * organization, whose hubs only the server knows.
 */
function useSourceOfHubs(): 'yes' | 'no' | 'maybe' {
  const { organizations, may } = useWorkspace()
  const owned = organizations.filter(({ roleName }) => roleName === OWNER)
  const isHere = owned.some(({ isCurrent }) => isCurrent)
  const { data: hubs } = useQuery({
    queryKey: ['hubs', 'any'],
    enabled: isHere && may('view/hub'),
    queryFn: ({ signal }) => readList('hubs', { limit: 1 }, signal),
  })
  if (owned.length === 0) return 'no'
  if (hubs && hubs.length > 0) return 'yes'
  return hubs && owned.length === 1 ? 'no' : 'maybe'
}

const EMPTY = { organizationName: '', hubName: '', hubLat: '', hubLng: '' }
const readNumber = (text: string) => Number(text.trim().replace(',', '.'))

/** Creates an organization by the rules of the interface: its first hub is needed where none can be taken over. */
export function NewOrganization({ onClose }: { onClose: () => void }) {
  const t = useOwnTexts(TEXTS)
  const source = useSourceOfHubs()
  const state = useFormErrors()
  const { errors, clear, show } = state
  const [values, setValues] = useState(EMPTY)
  const [copyDataFromFirstOrg, setCopying] = useState(false)
  const hasHub = [values.hubName, values.hubLat, values.hubLng].some(text => text.trim() !== '')
  // Some of the three fields without the others are refused.
  const isHubNeeded = hasHub || source === 'no'
  const create = useMutation({
    mutationFn: () => {
      const hub = {
        hubName: values.hubName,
        hubLat: readNumber(values.hubLat),
        hubLng: readNumber(values.hubLng),
      }
      const body = {
        organizationName: values.organizationName,
        copyDataFromFirstOrg,
        ...(isHubNeeded && hub),
      }
      return answered(api.POST('/api/v3/organization', { body }))
    },
    onMutate: () => {
      clear()
      expectEnd(true)
    },
    onError: error => {
      expectEnd(false)
      show(error)
    },
    onSuccess: startSession,
  })
  const field = (name: keyof typeof EMPTY) => ({
    name,
    value: values[name],
    onChange: (value: string) => setValues({ ...values, [name]: value }),
  })
  return (
    <Modal title={t.create} onClose={onClose}>
      <FieldForm state={state} className="stack" onSubmit={() => create.mutate()}>
        <p className="hint">{t.createLead}</p>
        <Field label={t.newName} {...field('organizationName')} isRequired autoFocus />
        {source !== 'no' && (
          <Checkbox className="check" isSelected={copyDataFromFirstOrg} onChange={setCopying}>
            <span className="box">
              <Icon name="check" />
            </span>
            {t.copy}
          </Checkbox>
        )}
        <h3>{t.hub}</h3>
        <p className="hint">{source === 'no' ? t.hubNeeded : t.hubOptional}</p>
        <Field label={t.hubName} {...field('hubName')} isRequired={isHubNeeded} />
        <div className="two">
          <Field label={t.hubLat} {...field('hubLat')} inputMode="decimal" isRequired={isHubNeeded} />
          <Field label={t.hubLng} {...field('hubLng')} inputMode="decimal" isRequired={isHubNeeded} />
        </div>
        {errors.hasOthers && <Trouble error={create.error} isDeed />}
        <div className="row-of-buttons">
          <ActionButton looks="primary" type="submit" isPending={create.isPending}>
            {t.create}
          </ActionButton>
        </div>
      </FieldForm>
    </Modal>
  )
}
