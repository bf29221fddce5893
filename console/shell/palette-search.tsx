import '../styles/palette.css'
import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { Autocomplete, Header, Input, Menu, MenuItem, MenuSection, TextField } from 'react-aria-components'
import { useNavigate } from 'react-router'
import { MAX_SEARCH } from '../api/lists.ts'
import { useWorkspace } from '../api/workspace.ts'
import type { PageKind } from '../kinds.ts'
import { afterDialog, focusHeading } from '../parts/focus.ts'
import { Icon, StateMark } from '../parts/icon.tsx'
import { sayFailure } from '../parts/parts.tsx'
import { useDebounced } from '../parts/use-debounced.ts'
import { useTexts } from '../texts/texts.tsx'
import { containing, type Entry, namesBegin, useFixedEntries } from './entries.ts'
import { useFoundEntries } from './found.ts'
import { keepRecent, readRecent } from './recent.ts'

/** The field of the palette, and the entries that match it. */
export function Search({ onDone }: { onDone: () => void }) {
  const texts = useTexts()
  const t = texts.palette
  const navigate = useNavigate()
  const { user, may } = useWorkspace()
  const whose = `${user.organizationId}/${user._id}`
  const [text, setText] = useState('')
  const debounced = useDebounced(text.trim())
  const { pages, actions } = useFixedEntries()
  const { found, isSearching, error } = useFoundEntries(text, debounced)

  const fixed = new Map([...pages, ...actions].map(entry => [entry.id, entry]))
  const contains = containing(text)
  const recent = readRecent(whose).flatMap((kept): Entry[] => {
    const known = fixed.get(kept.id)
    if (known) return namesBegin(known.name, text) ? [known] : []
    const fits = kept.to && contains(`${kept.name} ${kept.hint ?? ''}`)
    return fits ? [{ ...kept, icon: 'clock' }] : []
  })
  const isNew = ({ id }: Entry) => !recent.some(one => one.id === id)
  const groups = [
    ['recent', recent],
    ['pages', pages.filter(({ name }) => namesBegin(name, text)).filter(isNew)],
    ['actions', actions.filter(({ name }) => namesBegin(name, text)).filter(isNew)],
    ...found.map(([name, entries]) => [name, entries.filter(isNew)] as const),
  ] as const
  const titleOf = (name: (typeof groups)[number][0]) => {
    if (name === 'subjects' && !may('view/location')) return texts.kinds.devices.title
    return name in t.groups ? t.groups[name as keyof typeof t.groups] : texts.kinds[name as PageKind].title
  }
  const count = groups.reduce((sum, [, entries]) => sum + entries.length, 0)

  const [first] = groups.flatMap(([, entries]) => entries)
  /** Whether an arrow key has moved through the list since the last letter. */
  const hasGone = useRef(false)
  /** Whether Enter waits for the server, as no loaded entry matches the text. */
  const [isWaiting, setWaiting] = useState(false)
  const type = (text: string) => {
    hasGone.current = false
    setWaiting(false)
    setText(text)
  }
  const choose = (entry: Entry) => {
    const { id, name, hint, to } = entry
    keepRecent(whose, { id, name, hint, to })
    onDone()
    if (!to) return entry.run?.()
    void Promise.resolve(navigate(to)).then(() =>
      // A question about unsaved input may be open instead.
      afterDialog(() => document.querySelector('.modal-overlay') ?? focusHeading()),
    )
  }
  // React Aria activates an entry only some time after the last letter, so that a screen reader can read the letters out.
  // Enter must not wait for that.
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key.startsWith('Arrow') || event.key.startsWith('Page')) hasGone.current = true
    if (event.key !== 'Enter' || event.nativeEvent.isComposing || hasGone.current || text.trim() === '')
      return
    event.preventDefault()
    event.stopPropagation()
    if (first) choose(first)
    else setWaiting(isSearching)
  }
  useEffect(() => {
    if (!isWaiting || isSearching) return
    setWaiting(false)
    if (first) choose(first)
  })
  return (
    <Autocomplete inputValue={text} onInputChange={type}>
      <TextField className="search palette-search" aria-label={texts.nav.commands} autoFocus>
        <Icon name="search" />
        <Input placeholder={texts.nav.commands} maxLength={MAX_SEARCH} onKeyDownCapture={onKeyDown} />
      </TextField>
      {/* Mounted also while empty: a list that goes and comes back does not highlight its first entry. */}
      <Menu className="menu palette-list" aria-label={t.results} hidden={count === 0}>
        {groups
          .filter(([, entries]) => entries.length > 0)
          .map(([name, entries]) => (
            <MenuSection key={name} id={name}>
              <Header>{titleOf(name)}</Header>
              {entries.map(entry => (
                <MenuItem
                  key={entry.id}
                  id={entry.id}
                  className="menu-item"
                  textValue={entry.name}
                  onAction={() => choose(entry)}
                >
                  {entry.state ? <StateMark state={entry.state} /> : <Icon name={entry.icon} />}
                  <span>{entry.name}</span>
                  {entry.hint && <small>{entry.hint}</small>}
                </MenuItem>
              ))}
            </MenuSection>
          ))}
      </Menu>
      <p className={count === 0 || error ? 'hint palette-note' : 'unseen'} role="status">
        {error ? sayFailure(error, texts) : isSearching ? t.searching : count === 0 ? t.none : t.count(count)}
      </p>
    </Autocomplete>
  )
}
