import '../styles/pages.css'
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { answered, api } from '../api/client.ts'
import { serverNow } from '../clock.ts'
import { Modal } from '../parts/modal.tsx'
import { ActionButton } from '../parts/parts.tsx'
import { Question, type QuestionProps } from '../parts/question.tsx'
import { type Column, TABLE_EVERY_MS, Table } from '../parts/table.tsx'
import { useSubjectName } from '../shell/records.ts'
import { useWorkspace } from '../shell/workspace.tsx'
import { useFormat, useTexts } from '../texts/texts.tsx'

type Link = Awaited<ReturnType<typeof readLinks>>['data'][number]

const readLinks = (cursor: string | undefined) =>
  answered(api.GET('/api/v3/tracking-links', { params: { query: { cursor } } }))

export function Component() {
  const texts = useTexts()
  const format = useFormat()
  const { may } = useWorkspace()
  const queries = useQueryClient()
  const [revoking, setRevoking] = useState<Link | null>(null)
  const t = texts.links
  const list = useInfiniteQuery({
    queryKey: ['links'],
    meta: { everyMs: TABLE_EVERY_MS },
    queryFn: ({ pageParam }) => readLinks(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: page => page.pagination.nextCursor ?? undefined,
  })
  const revoke = useMutation({
    mutationFn: (id: string) =>
      answered(api.DELETE('/api/v3/tracking-link/{id}', { params: { path: { id } } })),
    onSettled: () => {
      setRevoking(null)
      return queries.invalidateQueries({ queryKey: ['links'] })
    },
  })
  const columns: Column<Link>[] = [
    { id: 'subject', title: t.subject, cell: link => <SubjectName link={link} /> },
    {
      id: 'expires',
      title: t.expires,
      cell: link => (Date.parse(link.expiresAt) < serverNow() ? t.expired : format.dateTime(link.expiresAt)),
    },
    {
      id: 'trail',
      title: t.trailMinutes,
      cell: link => format.duration(link.trailMinutes * 60),
      minor: true,
    },
    { id: 'created', title: t.created, cell: link => format.dateTime(link.createdAt), minor: true },
    {
      id: 'revoke',
      title: '',
      cell: link =>
        may('delete/tracking-link') && <RevokeButton link={link} onPress={() => setRevoking(link)} />,
    },
  ]
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
  const { links: t } = useTexts()
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
  const { links: t } = useTexts()
  return <Question ask={t.revokeAsk(useNameOf(link))} yes={t.revoke} {...answers} />
}
