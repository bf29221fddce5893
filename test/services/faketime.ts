import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { installPackages, isDebianRoot } from './debian.ts'
import { available, type Service, Unavailable } from './services.ts'

const LIBRARIES = '/usr/lib'

/** Ensures that libfaketime is installed, which gives a process another clock. */
export async function findFaketime(): Promise<Service<{ library: string }>> {
  return await available(async () => {
    if (!find()) {
      if (!isDebianRoot()) throw new Unavailable('libfaketime is not installed: install faketime')
      await installPackages(['faketime'])
    }
    const library = find()
    if (!library) throw new Unavailable('libfaketime is not where Debian has it')
    return { library, stop: async () => {} }
  })
}

/** In a folder named after the processor. The variant for programs with several threads. */
function find(): string | undefined {
  const paths = readdirSync(LIBRARIES).map(name => join(LIBRARIES, name, 'faketime/libfaketimeMT.so.1'))
  return paths.find(existsSync)
}
