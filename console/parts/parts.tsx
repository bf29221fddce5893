import { type ReactNode, useRef, useState } from 'react'
import {
  Button,
  type ButtonProps,
  FieldError,
  Input,
  Label,
  ListBox,
  ListBoxItem,
  Popover,
  Select,
  SelectValue,
  Text,
  TextField,
  type TextFieldProps,
} from 'react-aria-components'
import { Failure, retryAfterOf } from '../api/failure.ts'
import type { KindName } from '../kinds.ts'
import { describe } from '../texts/errors.ts'
import { useTexts } from '../texts/texts.tsx'
import { Icon, type IconName } from './icon.tsx'

type Looks = 'primary' | 'plain' | 'quiet' | 'danger'

/**
 * A button that ignores presses while its action runs. React Aria's own `isPending` announces an element that is gone by
 * then.
 */
export function ActionButton(props: ButtonProps & { looks?: Looks; icon?: IconName; children?: ReactNode }) {
  const { looks = 'plain', icon, children, className, isPending = false, ...rest } = props
  const idle = isPending ? { onPress: undefined, type: 'button' as const } : {}
  return (
    <Button
      {...rest}
      {...idle}
      className={`button ${looks} ${isPending ? 'pending' : ''} ${className ?? ''}`}
    >
      {icon && <Icon name={icon} />}
      {children}
    </Button>
  )
}

export function IconButton({ icon, label, ...rest }: ButtonProps & { icon: IconName; label: string }) {
  return (
    <Button {...rest} aria-label={label} className={`button quiet square ${rest.className ?? ''}`}>
      <Icon name={icon} />
    </Button>
  )
}

/** The error about a field, in the language of the page. */
export function FieldErrorText() {
  const { form } = useTexts()
  return (
    <FieldError className="field-error">
      {({ validationDetails, validationErrors }) =>
        validationDetails.valueMissing ? form.required : validationErrors.join(' ')
      }
    </FieldError>
  )
}

/** A text field with the server's error about it. */
export function Field({
  label,
  placeholder,
  hint,
  ...rest
}: TextFieldProps & { label: string; placeholder?: string; hint?: string | undefined }) {
  return (
    <TextField {...rest} className="field">
      <Label>{label}</Label>
      <Input placeholder={placeholder} />
      {hint !== undefined && (
        <Text slot="description" className="hint">
          {hint}
        </Text>
      )}
      <FieldErrorText />
    </TextField>
  )
}

export interface Choice {
  id: string
  name: string
  /** Tells choices of the same name apart. */
  hint?: string | undefined
  /** The record that it is mounted on, or that is mounted on it. */
  mount?: { kind: KindName; id: string } | undefined
}

export function Choose(props: {
  label: string
  choices: readonly Choice[]
  value: string
  onChange: (id: string) => void
  compact?: boolean
  name?: string
}) {
  const { label, choices, value, onChange, compact, name } = props
  return (
    <Select
      className={compact ? 'field compact' : 'field'}
      name={name}
      value={value}
      onChange={key => onChange(String(key))}
      {...(compact && { 'aria-label': label })}
    >
      {!compact && <Label>{label}</Label>}
      <Button className="button plain choose">
        <SelectValue />
        <Icon name="down" />
      </Button>
      <FieldErrorText />
      <Popover className="popover">
        <ListBox items={choices} className="menu">
          {choice => (
            <ListBoxItem id={choice.id} textValue={choice.name} className="menu-item">
              {choice.name}
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </Select>
  )
}

/** A value with a button that copies it and confirms that. */
export function Copyable(props: { value: string; label: string; autoFocus?: boolean; children?: ReactNode }) {
  const { value, label, autoFocus, children } = props
  const texts = useTexts()
  const shown = useRef<HTMLElement>(null)
  const [copied, setCopied] = useState(false)
  const copy = async () => {
    if (!(await writeClipboard(value, shown.current))) return
    setCopied(true)
    setTimeout(() => setCopied(false), 2_000)
  }
  return (
    <span className="copyable">
      <code ref={shown}>{children ?? value}</code>
      <Button
        autoFocus={autoFocus}
        className={`button quiet square ${copied ? 'done' : ''}`}
        aria-label={copied ? texts.copy.copied : texts.copy.of(label)}
        onPress={() => void copy()}
      >
        <Icon name={copied ? 'check' : 'copy'} />
      </Button>
    </span>
  )
}

/** Over plain HTTP there is no clipboard API: the shown value is selected, and stays selected when it cannot be copied. */
async function writeClipboard(value: string, shown: Node | null): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(value)
    return true
  } catch {
    return copyBySelection(value, shown)
  }
}

function copyBySelection(value: string, shown: Node | null): boolean {
  const selection = getSelection()
  if (!selection || !shown) return false
  selection.selectAllChildren(shown)
  // The shown text may be an abbreviation of the value.
  const write = (event: ClipboardEvent) => {
    event.preventDefault()
    event.clipboardData?.setData('text/plain', value)
  }
  document.addEventListener('copy', write)
  const isCopied = document.execCommand('copy')
  document.removeEventListener('copy', write)
  if (isCopied) selection.removeAllRanges()
  return isCopied
}

/** An error, and a way to retry. An ended session is not shown: the sign-in form tells of it, and it is over after that. */
export function Trouble(props: { error: unknown; onRetry?: () => void; isDeed?: boolean }) {
  const { error, onRetry, isDeed } = props
  const texts = useTexts()
  const status = error instanceof Failure ? error.status : 0
  if (status === 401) return null
  // A retry does not help when the record is missing or the role may not see it.
  const mayHelp = status !== 403 && status !== 404
  const retryAfterMs = retryAfterOf(error)
  return (
    <div className="trouble" role="alert">
      <p>
        {isDeed ? sayUndone(error, texts) : sayFailure(error, texts)}
        {!isDeed && retryAfterMs !== undefined && ` ${texts.errors.again(Math.ceil(retryAfterMs / 1_000))}`}
      </p>
      {onRetry && mayHelp && <ActionButton onPress={onRetry}>{texts.errors.retry}</ActionButton>}
    </div>
  )
}

export function sayFailure(error: unknown, texts: ReturnType<typeof useTexts>): ReactNode {
  if (!(error instanceof Failure)) return texts.errors.failed
  if (error.status === 0) return texts.errors.unreachable
  const [field] = error.problem.code === 'invalid-input' ? Object.values(error.fields) : []
  const { text, detail } = describe(field ?? error.problem, field ? 'fields' : 'failures', texts.problems)
  return (
    <>
      {text} {detail && <span lang="en">{detail}</span>}
    </>
  )
}

/** An error of an action, which is not retried automatically. */
export const sayUndone = (error: unknown, texts: ReturnType<typeof useTexts>): ReactNode =>
  error instanceof Failure && error.status === 0 ? texts.errors.undone : sayFailure(error, texts)
