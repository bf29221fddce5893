import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The files of a certificate. */
export interface Certificate {
  cert: string
  key: string
}

/** An authority for certificates of a test, in a folder of the test. */
export interface Authority {
  /** The file of its own certificate. */
  file: string
  /** `names` are what the certificate is for, such as `IP:127.0.0.1,DNS:localhost`. */
  issue(name: string, names?: string): Certificate
}

const CURVE = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

export function createAuthority(folder: string, name: string): Authority {
  const openssl = (...given: string[]) => execFileSync('openssl', given, { stdio: 'pipe' })
  const at = (file: string) => join(folder, `${name}-${file}`)
  const own: Certificate = { cert: at('ca.pem'), key: at('ca-key.pem') }
  const self = ['req', '-x509', ...CURVE, '-subj', `/CN=${name}`, '-days', '30']
  openssl(...self, '-keyout', own.key, '-out', own.cert)
  return {
    file: own.cert,
    issue(subject, names) {
      const issued = { cert: at(`${subject}.pem`), key: at(`${subject}-key.pem`) }
      const [request, extensions] = [at('request.pem'), at('extensions')]
      openssl('req', ...CURVE, '-subj', `/CN=${subject}`, '-keyout', issued.key, '-out', request)
      writeFileSync(extensions, names ? `subjectAltName=${names}\n` : '')
      const by = ['-CA', own.cert, '-CAkey', own.key, '-CAcreateserial', '-days', '30']
      openssl('x509', '-req', '-in', request, '-out', issued.cert, '-extfile', extensions, ...by)
      return issued
    },
  }
}

/** Key and certificate in one file, as Kafka reads them. */
export function joinFiles({ cert, key }: Certificate, to: string): string {
  writeFileSync(to, readFileSync(key, 'utf8') + readFileSync(cert, 'utf8'))
  return to
}
