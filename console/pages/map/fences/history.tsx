import { useEffect, useRef, useState } from 'react'
import { IconButton } from '../../../parts/parts.tsx'
import { useTexts } from '../../../texts/texts.tsx'

/** Keys in one field that follow each other sooner are one step. */
const TOGETHER_MS = 1_000
const MAX_STEPS = 100

export interface History<T> {
  /** `field` is where it was typed. */
  change: (next: T, field?: string) => void
  undo?: () => void
  redo?: () => void
}

/** What something was before each of its changes, whoever made them, and what it was before they were undone. */
export function useHistory<T>(value: T, set: (value: T) => void): History<T> {
  const [{ past, future }, setSteps] = useState<{ past: T[]; future: T[] }>({ past: [], future: [] })
  const last = useRef({ field: '', at: 0 })
  const [before, after] = [past.at(-1), future.at(-1)]
  const go = (steps: { past: T[]; future: T[] }, next: T) => {
    last.current = { field: '', at: 0 }
    setSteps(steps)
    set(next)
  }
  return {
    change(next, field = '') {
      const at = performance.now()
      const isMore = field !== '' && field === last.current.field && at - last.current.at < TOGETHER_MS
      last.current = { field, at }
      setSteps({ past: isMore ? past : [...past, value].slice(-MAX_STEPS), future: [] })
      set(next)
    },
    ...(before !== undefined && {
      undo: () => go({ past: past.slice(0, -1), future: [...future, value] }, before),
    }),
    ...(after !== undefined && {
      redo: () => go({ past: [...past, value], future: future.slice(0, -1) }, after),
    }),
  }
}

interface Props extends Pick<History<unknown>, 'undo' | 'redo'> {
  /** What is taken back first: whether there was any. */
  stepBack: () => boolean
  /** Where a name of a field begins like this the keys mean these steps, in others what was typed there. */
  fields: string
}

/** Undo and redo, by buttons and by the keys that everybody knows. */
export function HistoryButtons({ undo, redo, stepBack, fields }: Props) {
  const { fences: t } = useTexts()
  const handlers = useRef({ undo, redo, stepBack, fields })
  handlers.current = { undo, redo, stepBack, fields }
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const key = event.key.toLowerCase()
      if (!(event.ctrlKey || event.metaKey) || event.altKey || (key !== 'z' && key !== 'y')) return
      const { undo, redo, stepBack, fields } = handlers.current
      const field = (event.target as Element).closest('input, textarea')
      if (field && !field.getAttribute('name')?.startsWith(fields)) return
      event.preventDefault()
      if (key === 'y' || event.shiftKey) redo?.()
      else if (!stepBack()) undo?.()
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [])
  return (
    <div className="row-of-buttons">
      <IconButton icon="undo" label={t.undo} isDisabled={!undo} onPress={() => stepBack() || undo?.()} />
      <IconButton icon="redo" label={t.redo} isDisabled={!redo} onPress={() => redo?.()} />
    </div>
  )
}
