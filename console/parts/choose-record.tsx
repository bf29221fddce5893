import '../styles/choose-record.css'
import { useState } from 'react'
import {
  Autocomplete,
  Button,
  Input,
  Label,
  ListBox,
  ListBoxItem,
  Popover,
  SearchField,
  Select,
  SelectValue,
} from 'react-aria-components'
import { MAX_SEARCH } from '../api/lists.ts'
import type { KindName } from '../kinds.ts'
import { useTexts } from '../texts/texts.tsx'
import { Icon } from './icon.tsx'
import { type Choice, FieldErrorText, IconButton } from './parts.tsx'
import { useMatching, useName } from './records.ts'

interface Props {
  label: string
  value: string
  onChange: (id: string) => void
  compact?: boolean
  name?: string
}

interface RecordProps extends Props {
  kind: KindName
  /** The text for no record; without it the word "None". */
  none?: string
}

/** A field for one record of a kind. The server searches the list, so there may be any number of records. */
export function ChooseRecord({ kind, none, ...rest }: RecordProps) {
  const { form } = useTexts()
  const { value } = rest
  const nobody = none ?? form.none
  const [text, setText] = useState('')
  const matching = useMatching(kind, text)
  const chosen = useName(kind, value)
  const choices = text.trim() === '' ? [{ id: '', name: nobody }, ...matching] : matching
  return <ChooseFound {...rest} {...{ text, setText, choices }} chosen={value === '' ? nobody : chosen} />
}

interface FoundProps extends Props {
  text: string
  setText: (text: string) => void
  /** The choices that match the text. */
  choices: readonly Choice[]
  /** The name of the chosen record, whether or not the text matches it. */
  chosen: string
  /** A sentence about the list. */
  note?: string | undefined
}

/** A field for one of many choices, found by a few letters. */
export function ChooseFound(props: FoundProps) {
  const { label, value, onChange, compact, name, text, setText, choices, chosen, note } = props
  const { map } = useTexts()
  return (
    <Select
      className={compact ? 'field compact' : 'field'}
      name={name}
      value={value}
      onChange={key => onChange(String(key))}
      onOpenChange={() => setText('')}
      {...(compact && { 'aria-label': label })}
    >
      {!compact && <Label>{label}</Label>}
      <Button className="button plain choose">
        <SelectValue>{() => chosen}</SelectValue>
        <Icon name="down" />
      </Button>
      <FieldErrorText />
      <Popover className="popover choose-record">
        <Autocomplete inputValue={text} onInputChange={setText}>
          <RecordSearch />
          <ListBox
            items={choices}
            className="menu"
            aria-label={label}
            renderEmptyState={() => <p className="hint menu-note">{map.none}</p>}
          >
            {choice => (
              <ListBoxItem id={choice.id} textValue={choice.name} className="menu-item">
                {choice.hint || choice.mount ? (
                  <>
                    <span>{choice.name}</span>
                    <small>{choice.mount ? <RecordName {...choice.mount} /> : choice.hint}</small>
                  </>
                ) : (
                  choice.name
                )}
              </ListBoxItem>
            )}
          </ListBox>
          {note && (
            <p className="hint menu-note" role="status">
              {note}
            </p>
          )}
        </Autocomplete>
      </Popover>
    </Select>
  )
}

export function RecordSearch(props: { value?: string; onChange?: (text: string) => void }) {
  const { map } = useTexts()
  return (
    <SearchField
      className="search"
      aria-label={map.search}
      autoFocus={props.onChange === undefined}
      {...props}
    >
      <Icon name="search" />
      <Input placeholder={map.search} maxLength={MAX_SEARCH} />
      <IconButton icon="close" label={map.clear} className="clear" />
    </SearchField>
  )
}

export function RecordName({ kind, id }: { kind: KindName; id: string | null | undefined }) {
  return <span className="record-name">{useName(kind, id)}</span>
}
