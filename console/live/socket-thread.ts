import { type Changes, createChanges, type Message } from './changes.ts'

/**
 * The thread of the live socket (socket.ts). Ten thousand moving subjects are megabytes of text four times a second: parsed
 * here, they do not block the page. The page gets the changes piece by piece, each after it has taken the one before.
 */

/** Messages from the page. */
export type ToThread =
  | { do: 'open'; socket: number; url: string; token: string }
  | { do: 'say'; text: string }
  | { do: 'close' }
  /** The page has taken the last changes. */
  | { do: 'taken' }

/** Messages to the page about one of its sockets. */
export type FromThread = { socket: number } & (
  | { what: 'opened' }
  | { what: 'closed'; code: number }
  | { what: 'changed'; changes: Changes }
)

let close = () => {}
let say = (_text: string) => {}
/** Sends the next changes, once the page has taken the last ones. */
let goOn = () => {}
let isTaking = false

addEventListener('message', ({ data }: MessageEvent<ToThread>) => {
  if (data.do === 'open') open(data)
  else if (data.do === 'say') say(data.text)
  else if (data.do === 'close') close()
  else {
    isTaking = false
    goOn()
  }
})

const tell = (message: FromThread) => postMessage(message)

function open({ socket, url, token }: { socket: number; url: string; token: string }): void {
  close()
  const opened = new WebSocket(url, ['bearer', token])
  const changed = createChanges()
  let isMore = false
  say = text => {
    if (opened.readyState === WebSocket.OPEN) opened.send(text)
  }
  close = () => {
    opened.onopen = opened.onmessage = opened.onclose = null
    opened.close()
    goOn = () => {}
  }
  goOn = () => {
    if (isTaking || !isMore) return
    const { changes, isLast } = changed.take()
    isMore = !isLast
    isTaking = true
    tell({ socket, what: 'changed', changes })
  }
  opened.onopen = () => tell({ socket, what: 'opened' })
  opened.onclose = ({ code }) => tell({ socket, what: 'closed', code })
  opened.onmessage = ({ data }) => {
    changed.hear(JSON.parse(data as string) as Message)
    isMore = true
    goOn()
  }
}
