// Loaded into a server under test: once the file named by FAIL_DISK exists, no sync succeeds, as on a failed disk.

import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

for (const method of ['fsyncSync', 'fdatasyncSync']) {
  const sync = fs[method]
  fs[method] = fd => {
    if (fs.existsSync(process.env.FAIL_DISK)) {
      throw Object.assign(new Error(`EIO: i/o error, ${method.slice(0, -4)}`), { code: 'EIO' })
    }
    sync(fd)
  }
}
syncBuiltinESMExports()
