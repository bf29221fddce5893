/** The part of a WebSocket that browsers and Node's `ws` have in common. */
export interface Socket {
  onopen: ((event: Event) => void) | null
  onmessage: ((event: MessageEvent) => void) | null
  onerror: ((event: Event) => void) | null
  onclose: ((event: CloseEvent) => void) | null
  send(text: string): void
  close(): void
}

export type OpenSocket = (url: string, protocols: string[]) => Socket
