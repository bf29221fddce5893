/** Keys and metadata of the largest providers are under 100 KB. */
const MAX_BYTES = 1024 * 1024
const WITHIN_MS = 10_000

interface Sent {
  method?: string
  headers?: Record<string, string>
  body?: unknown
  signal?: AbortSignal | undefined
}

/**
 * Sends a request to the provider, with bounds in time and bytes. It follows no redirect: a provider has none where keys
 * and tokens are. `onAway` is called if the provider cannot be reached or fails.
 */
export async function fetchBounded(url: string, sent: Sent, onAway: () => void): Promise<Response> {
  try {
    const { signal, body, ...rest } = sent
    const late = AbortSignal.timeout(WITHIN_MS)
    const response = await fetch(url, {
      ...rest,
      ...(body === undefined || body === null ? {} : { body: body as URLSearchParams }),
      redirect: 'manual',
      signal: signal ? AbortSignal.any([signal, late]) : late,
    })
    if (response.status >= 500) throw new Error(`The provider answered ${response.status}`)
    const bytes = await readBounded(response)
    const { status, headers } = response
    return new Response(status === 204 || status === 304 ? null : bytes, { status, headers })
  } catch (error) {
    onAway()
    throw error
  }
}

async function readBounded({ body }: Response): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of body ?? []) {
    length += part.length
    if (length > MAX_BYTES) throw new Error('The provider answered too much')
    parts.push(part)
  }
  const whole = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
