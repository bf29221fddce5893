import '../../styles/pages.css'
import '../../styles/imports.css'
import { ToggleButton, ToggleButtonGroup } from 'react-aria-components'
import { useSearchParams } from 'react-router'
import { answered, api } from '../../api/client.ts'
import { useWorkspace } from '../../api/workspace.ts'
import { Modal } from '../../parts/modal.tsx'
import { ActionButton } from '../../parts/parts.tsx'
import { Table } from '../../parts/table.tsx'
import { useList } from '../../parts/use-list.ts'
import { useFormat, useTexts } from '../../texts/texts.tsx'
import { ExportLogs } from './export-logs.tsx'
import { type ImportRecord, isEnded, useImport, useLiveTransfers } from './import-queries.ts'
import { ImportWizard } from './import-wizard.tsx'
import { Outcome } from './outcome.tsx'
import { useImportTexts } from './texts.ts'

/** Imports with their results, and the log of exports. The address names the open import, or the form of a new one. */
export function Component() {
  const texts = useTexts()
  const t = useImportTexts()
  const { may } = useWorkspace()
  const [params, setParams] = useSearchParams()
  useLiveTransfers()
  const mayImport = may('import/data') && may('view/data-type')
  const isExports = !mayImport || params.get('show') === 'exports'
  const isNew = mayImport && params.get('new') === 'true'
  const show = (next: { [name: string]: string }) => setParams(next, { replace: false })
  const opened = params.get('import')
  return (
    <main className="page" id="content">
      <title>{`${t.title} · ${texts.product}`}</title>
      <header className="page-head">
        <h1>{t.title}</h1>
        {mayImport && (
          <ToggleButtonGroup
            className="switch"
            aria-label={t.show}
            selectionMode="single"
            disallowEmptySelection
            selectedKeys={[isExports ? 'exports' : 'imports']}
            onSelectionChange={([chosen]) => show(chosen === 'exports' ? { show: 'exports' } : {})}
          >
            <ToggleButton id="imports">{t.imports}</ToggleButton>
            <ToggleButton id="exports">{t.exports}</ToggleButton>
          </ToggleButtonGroup>
        )}
        <div className="end">
          {mayImport && !isNew && (
            <ActionButton looks="primary" icon="plus" onPress={() => show({ new: 'true' })}>
              {t.start}
            </ActionButton>
          )}
        </div>
        <p className="hint">{t.lead}</p>
      </header>
      {isNew ? (
        <ImportWizard typeId={params.get('type') ?? ''} onDone={() => show({})} />
      ) : isExports ? (
        <ExportLogs />
      ) : (
        <Imports opened={opened} onOpen={id => show(id ? { import: id } : {})} />
      )}
    </main>
  )
}

function Imports({ opened, onOpen }: { opened: string | null; onOpen: (id: string) => void }) {
  const t = useImportTexts()
  const format = useFormat()
  const list = useList(['imports', 'list'], (page, signal) =>
    answered(api.GET('/api/v3/import-monitoring', { params: { query: page }, signal })),
  )
  const found = useImport(opened)
  return (
    <>
      <Table<ImportRecord>
        label={t.imports}
        list={list}
        empty={t.none}
        emptyHint={t.noneHint}
        onOpen={record => onOpen(record._id)}
        {...(opened && { opened })}
        columns={[
          { id: 'file', title: t.file, cell: one => one.fileName },
          { id: 'type', title: t.type, cell: one => one.dataType.name, minor: true },
          { id: 'status', title: t.status, cell: one => <Status record={one} /> },
          { id: 'result', title: t.result, cell: one => <Counts record={one} />, minor: true },
          { id: 'at', title: t.at, cell: one => format.dateTime(one.createdAt), minor: true },
        ]}
      />
      {opened && found.data && (
        <Modal title={found.data.fileName} onClose={() => onOpen('')} wide>
          <Outcome key={found.data._id} record={found.data} onMended={onOpen} />
        </Modal>
      )}
    </>
  )
}

function Status({ record }: { record: ImportRecord }) {
  const t = useImportTexts()
  const format = useFormat()
  const { status, dryRun, progress } = record
  // How a check has ended is said by its counts.
  const isCheck = dryRun && isEnded(record) && record.error === null
  return (
    <>
      {isCheck ? t.dryRun : t.statuses[status]}
      {!isEnded(record) && ` ${format.percent(progress * 100)}`}
      {dryRun && !isCheck && ` · ${t.dryRun}`}
    </>
  )
}

const COUNTED = ['created', 'updated', 'unchanged', 'failed'] as const

function Counts({ record }: { record: ImportRecord }) {
  const t = useImportTexts()
  const format = useFormat()
  const words = record.dryRun ? t.wouldCounts : t.counts
  return COUNTED.filter(name => record[name] > 0)
    .map(name => words[name](format.count(record[name])))
    .join(', ')
}
