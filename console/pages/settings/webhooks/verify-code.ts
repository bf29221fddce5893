/** Code that verifies a signature of Standard Webhooks, with nothing but the language's own library. */
export const VERIFY_CODE: { language: string; code: string }[] = [
  {
    language: 'JavaScript (Node.js)',
    code: `import { createHmac, timingSafeEqual } from 'node:crypto'

/** body: the bytes as they came, before any JSON is parsed */
export function isGenuine(headers, body, secret) {
  const at = Number(headers['webhook-timestamp'])
  if (!(Math.abs(Date.now() / 1000 - at) < 300)) return false
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const expected = createHmac('sha256', key)
    .update(\`\${headers['webhook-id']}.\${headers['webhook-timestamp']}.\`)
    .update(body)
    .digest()
  return headers['webhook-signature'].split(' ').some(one => {
    const [version, text = ''] = one.split(',')
    const given = Buffer.from(text, 'base64')
    return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected)
  })
}`,
  },
  {
    language: 'Python',
    code: `import base64, hashlib, hmac, time

def is_genuine(headers, body: bytes, secret: str) -> bool:
    """body: the bytes as they came, before any JSON is parsed"""
    if abs(time.time() - int(headers["webhook-timestamp"])) > 300:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f'{headers["webhook-id"]}.{headers["webhook-timestamp"]}.'.encode() + body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return any(
        hmac.compare_digest(one, "v1," + expected)
        for one in headers["webhook-signature"].split(" ")
    )`,
  },
  {
    language: 'PHP',
    code: `<?php
/** $body: the bytes as they came, from php://input */
function isGenuine(array $headers, string $body, string $secret): bool
{
    if (abs(time() - (int) $headers['webhook-timestamp']) > 300) return false;
    $key = base64_decode(preg_replace('/^whsec_/', '', $secret));
    $signed = "{$headers['webhook-id']}.{$headers['webhook-timestamp']}.$body";
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', $signed, $key, true));
    foreach (explode(' ', $headers['webhook-signature']) as $one) {
        if (hash_equals($expected, $one)) return true;
    }
    return false;
}`,
  },
]
