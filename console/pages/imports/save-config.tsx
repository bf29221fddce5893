import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { answered, api } from '../../api/client.ts'
import { ActionButton, Field, Trouble } from '../../parts/parts.tsx'
import type { Mapping } from './mapping.ts'
import { useImportTexts } from './texts.ts'

/** Keeps a mapping under a name, for files that come again and again. */
export function SaveConfig({ dataTypeId, mapping }: { dataTypeId: string; mapping: Mapping }) {
  const t = useImportTexts()
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const save = useMutation({
    mutationFn: () => {
      const body = { name, resource: 'data' as const, dataTypeId, mapping }
      return answered(api.POST('/api/v3/import-config', { body }))
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ['import-configs'] }),
  })
  if (save.isSuccess)
    return (
      <p className="good" role="status">
        {t.saved}
      </p>
    )
  return (
    <details className="more-fields">
      <summary>{t.saveConfig}</summary>
      <div className="stack">
        <div className="add-value">
          <Field label={t.configName} value={name} onChange={setName} maxLength={100} />
          <ActionButton
            isDisabled={name.trim() === ''}
            isPending={save.isPending}
            onPress={() => save.mutate()}
          >
            {t.saveConfig}
          </ActionButton>
        </div>
        {save.error && <Trouble error={save.error} isDeed />}
      </div>
    </details>
  )
}
