import '../styles/pages.css'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useSearchParams } from 'react-router'
import { answered, api } from '../api/client.ts'
import { useWorkspace } from '../api/workspace.ts'
import { serverNow } from '../clock.ts'
import { useSubjectName } from '../live/subject-names.ts'
import { RecordName } from '../parts/choose-record.tsx'
import { Modal } from '../parts/modal.tsx'
import { ActionButton } from '../parts/parts.tsx'
import { Question, type QuestionProps } from '../parts/question.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { orderOf, type PageQuery, useList } from '../parts/use-list.ts'
import { linkTexts as de } from '../texts/de/links.ts'
import { linkTexts as en } from '../texts/en/links.ts'
import { useFormat, useOwnTexts, useTexts } from '../texts/texts.tsx'

const TEXTS = { en, de }

type Link = Awaited<ReturnType<typeof readLinks>>['data'][number]

type Sort = 'expiresAt' | 'createdAt'

const readLinks = (query: PageQuery & { sort: Sort | `-${Sort}` }, signal: AbortSignal) =>
  answered(api.GET('/api/v3/tracking-links', { params: { query }, signal }))

export function Component() {
  const texts = useTexts()
  const format = useFormat()
  const { may } = useWorkspace()
  const queries = useQueryClient()
  const [revoking, setRevoking] = useState<Link | null>(null)
  const [params, setParams] = useSearchParams()
  const t = useOwnTexts(TEXTS)
  const revoke = useMutation({
    mutationFn: (id: string) =>
      answered(api.DELETE('/api/v3/tracking-link/{id}', { params: { path: { id } } })),
    onSettled: () => {
      setRevoking(null)
      return queries.invalidateQueries({ queryKey: ['links'] })
    },
  })
  const columns: (Column<Link> & { sort?: Sort })[] = [
    { id: 'subject', title: t.subject, cell: link => <SubjectName link={link} /> },
    ...(may('view/task')
      ? [
          {
            id: 'task',
            title: t.task,
            cell: (link: Link) => link.taskId && <RecordName kind="tasks" id={link.taskId} />,
            minor: true,
          },
        ]
      : []),
    {
      id: 'expires',
      title: t.expires,
      sort: 'expiresAt',
      cell: link => (Date.parse(link.expiresAt) < serverNow() ? t.expired : format.dateTime(link.expiresAt)),
    },
    {
      id: 'trail',
      title: t.trailMinutes,
      cell: link => format.duration(link.trailMinutes * 60),
      minor: true,
    },
    {
      id: 'created',
      title: t.created,
      sort: 'createdAt',
      cell: link => format.dateTime(link.createdAt),
      minor: true,
    },
    {
      id: 'revoke',
      title: '',
      cell: link =>
        may('delete/tracking-link') && <RevokeButton link={link} onPress={() => setRevoking(link)} />,
    },
  ]
  const sort = orderOf(params.get('sort'), columns, '-createdAt')
  const list = useList(['links', sort], (page, signal) => readLinks({ ...page, sort }, signal))
  return (
    <main className="page" id="content">
      <title>{`${t.title} · ${texts.product}`}</title>
      <header className="page-head">
        <h1>{t.title}</h1>
        <p className="hint">{t.lead}</p>
      </header>
      <Table
        label={t.title}
        columns={columns}
        list={list}
        empty={t.none}
        emptyHint={t.noneHint}
        opened={revoking?._id}
        order={sort}
        onOrder={sort => setParams({ sort }, { replace: true })}
      />
      {revoking && (
        <Modal title={t.revoke} onClose={() => setRevoking(null)}>
          <RevokeQuestion
            link={revoking}
            isPending={revoke.isPending}
            onYes={() => revoke.mutate(revoking._id)}
            onNo={() => setRevoking(null)}
          />
        </Modal>
      )}
    </main>
  )
}

const useNameOf = ({ subjectType, subjectId }: Link) => useSubjectName(subjectType, subjectId)

function SubjectName({ link }: { link: Link }) {
  return useNameOf(link)
}

function RevokeButton({ link, onPress }: { link: Link; onPress: () => void }) {
  const t = useOwnTexts(TEXTS)
  return (
    <ActionButton looks="quiet" aria-label={`${t.revoke}: ${useNameOf(link)}`} onPress={onPress}>
      {t.revoke}
    </ActionButton>
  )
}

function RevokeQuestion({
  link,
  ...answers
}: { link: Link } & Pick<QuestionProps, 'isPending' | 'onYes' | 'onNo'>) {
  const t = useOwnTexts(TEXTS)
  return <Question ask={t.revokeAsk(useNameOf(link))} yes={t.revoke} {...answers} />
}
