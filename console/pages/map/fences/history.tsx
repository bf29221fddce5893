import { useEffect, useRef, useState } from 'react'
import { IconButton } from '../../../parts/parts.tsx'
import { useTexts } from '../../../texts/texts.tsx'

/** Keys in one field that follow each other sooner form one step. */
const TOGETHER_MS = 1_000
const MAX_STEPS = 100

export interface History<T> {
  /** `field` is the name of the field that was typed into. */
  change: (next: T, field?: string) => void
  undo?: () => void
  redo?: () => void
}

/** Undo and redo for a value, whichever part of the page changes it. */
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
  /** Takes back an unfinished step first. Returns whether there was one. */
  stepBack: () => boolean
  /** The keys mean these steps in fields whose name begins with this, and text editing in other fields. */
  fields: string
}

/** Undo and redo, by buttons and by the usual keys. */
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
