import { type Changes, createChanges, type Message } from './changes.ts'

/**
 * The thread of the live socket (socket.ts). Ten thousand subjects that move are megabytes of text four times a second: read
 * here, they are in nobody's way. The page is told of changes piece by piece, the next one when it has taken the one before.
 */

/** What the page asks for. */
export type ToThread =
  | { do: 'open'; socket: number; url: string; token: string }
  | { do: 'say'; text: string }
  | { do: 'close' }
  /** It has taken the changes that it was told of. */
  | { do: 'taken' }

/** What it is told, of which socket. */
export type FromThread = { socket: number } & (
  | { what: 'opened' }
  | { what: 'closed'; code: number }
  | { what: 'changed'; changes: Changes }
)

let close = () => {}
let say = (_text: string) => {}
/** Tells of more, when the page has taken what it was told of. */
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
