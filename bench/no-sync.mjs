// Loaded into a server that is measured without syncs: it replaces them, like a disk that confirms every sync without
// doing it.

import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

fs.fsyncSync = () => {}
fs.fdatasyncSync = () => {}
fs.fsync = (_descriptor, done) => process.nextTick(done, null)
fs.fdatasync = fs.fsync
syncBuiltinESMExports()
