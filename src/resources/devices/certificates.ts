import { createHash, X509Certificate } from 'node:crypto'
import type { DeviceCertificate } from '../../../db/queries/devices.ts'
import { invalid } from '../../http/errors.ts'

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** Reads the values to store from a certificate in PEM. Throws 400 for anything else. */
export function readCertificate(pem: string): DeviceCertificate {
  const found = pem.match(PEM) ?? []
  if (found.length > 1)
    throw invalid('certificate', 'Give the certificate of the device alone, without its chain.')
  try {
    const certificate = new X509Certificate(found[0] ?? '')
    return {
      fingerprint: createHash('sha256').update(certificate.raw).digest(),
      beginsAt: new Date(certificate.validFrom),
      expiresAt: new Date(certificate.validTo),
    }
  } catch {
    throw invalid('certificate', 'This has to be a certificate in PEM.')
  }
}
