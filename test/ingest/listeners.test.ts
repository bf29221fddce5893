import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { openTls } from '../../ingest/mqtt/listeners.ts'

const CERTIFICATES = resolve(import.meta.dirname, '../data/tls')

describe('The certificate of MQTT', () => {
  const folder = mkdtempSync(join(tmpdir(), 'listeners-'))
  const files = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') }
  const install = () => {
    copyFileSync(join(CERTIFICATES, 'first-cert.pem'), files.certFile)
    copyFileSync(join(CERTIFICATES, 'first-key.pem'), files.keyFile)
  }
  beforeEach(() => {
    install()
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  })
  afterEach(() => {
    vi.useRealTimers()
    rmSync(folder, { recursive: true })
  })

  it('that vanishes is reported once, and again only after it was back', () => {
    const told: string[] = []
    const tls = openTls(files, error => told.push((error as NodeJS.ErrnoException).code ?? String(error)))
    const endsAt = tls.endsAt
    for (const times of [1, 2]) {
      rmSync(files.certFile)
      vi.advanceTimersByTime(60_000)
      expect(told).toEqual(Array(times).fill('ENOENT'))
      expect(tls.endsAt).toBe(endsAt)
      install()
      vi.advanceTimersByTime(60_000)
      expect(told).toHaveLength(times)
    }
    tls.close()
  })
})
