import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { ActionButton, IconButton, sayUndone } from '../parts/parts.tsx'
import { getUndoable, type Offer, offerUndo, tellFailure } from '../parts/undo.ts'
import { useTexts } from '../texts/texts.tsx'

/** Long enough to read the sentence, look at the map, and come back. */
const OFFERED_FOR_MS = 60_000

/** Tells of a change that was just made, and takes it back. */
export default function UndoBar({ change }: { change: Offer }) {
  const texts = useTexts()
  const queries = useQueryClient()
  const undoing = useMutation({
    mutationFn: change.undo,
    // Another change may be offered by now.
    onSuccess: () => getUndoable()?.number === change.number && offerUndo(null),
    onError: error => tellFailure(change, error),
    // A part of it may be done.
    onSettled: () => void queries.invalidateQueries(),
  })
  useEffect(() => {
    const timer = setTimeout(() => offerUndo(null), OFFERED_FOR_MS)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div className="undo-bar" role="status">
      <span>
        {change.failure ? sayUndone(change.failure.error, texts) : null} {change.text}
      </span>
      <ActionButton looks="quiet" isPending={undoing.isPending} onPress={() => undoing.mutate()}>
        {texts.form.undo}
      </ActionButton>
      <IconButton icon="close" label={texts.form.close} onPress={() => offerUndo(null)} />
    </div>
  )
}
