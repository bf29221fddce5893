// Loaded into a server that is measured without its syncs: none is made, as on a disk that says yes to everything.

import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

fs.fsyncSync = () => {}
fs.fdatasyncSync = () => {}
fs.fsync = (_descriptor, done) => process.nextTick(done, null)
fs.fdatasync = fs.fsync
syncBuiltinESMExports()
