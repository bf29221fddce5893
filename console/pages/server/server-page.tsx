import '../../styles/pages.css'
import '../../styles/server.css'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { ToggleButton, ToggleButtonGroup } from 'react-aria-components'
import { useWorkspace } from '../../api/workspace.ts'
import { Trouble } from '../../parts/parts.tsx'
import { useAddress } from '../../parts/use-address.ts'
import { useTexts } from '../../texts/texts.tsx'
import { Card } from './card.tsx'
import { FIGURES, PERIODS, type Period, READ_EVERY_MS, readHistory } from './figures.ts'
import { useServerTexts } from './texts.ts'

/** How the server is doing, for whoever runs it. */
export function Component() {
  const texts = useTexts()
  const t = useServerTexts()
  const isOwn = useWorkspace().user.runsServer
  const { params, change } = useAddress()
  const period = PERIODS.find(one => one === params.get('period')) ?? 'day'
  const { data, error, refetch } = useQuery({
    queryKey: ['health-history', period],
    enabled: isOwn,
    queryFn: ({ signal }) => readHistory(period, signal),
    meta: { everyMs: READ_EVERY_MS },
    placeholderData: keepPreviousData,
  })
  const wanting =
    data?.verdicts
      .filter(({ state }) => state === 'bad' || state === 'warning')
      .map(({ figure }) => t.figures[figure]) ?? []
  return (
    <main className="page health" id="content">
      <title>{`${t.title} · ${texts.product}`}</title>
      <header className="page-head">
        <h1>{t.title}</h1>
        <div className="end" hidden={!isOwn}>
          <ToggleButtonGroup
            className="switch health-periods"
            aria-label={t.period}
            selectionMode="single"
            disallowEmptySelection
            selectedKeys={[period]}
            onSelectionChange={([chosen]) => change({ period: chosen === 'day' ? '' : (chosen as Period) })}
          >
            {PERIODS.map(one => (
              <ToggleButton key={one} id={one}>
                {t.periods[one]}
              </ToggleButton>
            ))}
          </ToggleButtonGroup>
        </div>
        <p className="hint">{t.lead}</p>
      </header>
      {error && <Trouble error={error} onRetry={() => void refetch()} />}
      {!isOwn && <p className="note">{t.notYours}</p>}
      {isOwn && !data && !error && <p className="hint">{texts.loading}</p>}
      {data && (
        <>
          <p role="status" className={wanting.length > 0 ? 'note' : 'health-summary'}>
            {data.verdicts.every(({ cause }) => cause === 'no-figures') && data.samples.length === 0
              ? t.none
              : wanting.length > 0
                ? t.toDo(wanting.length, wanting.join(', '))
                : t.allWell}
          </p>
          <div className="health-cards" aria-busy={data.period !== period}>
            {FIGURES.map(figure => (
              <Card key={figure.name} figure={figure} history={data} />
            ))}
          </div>
        </>
      )}
    </main>
  )
}
