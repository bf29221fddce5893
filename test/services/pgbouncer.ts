import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder } from './cache.ts'
import { freePort } from './commands.ts'
import { requireExecutable } from './debian.ts'
import { claimFolder } from './folders.ts'
import { startServer } from './server.ts'
import { available, type Control, type Service, Unavailable } from './services.ts'

/** PgBouncer in transaction mode in front of the server of `url`: no session outlives a transaction. */
export async function startPgbouncer(url: string): Promise<Service<{ url: string; control: Control }>> {
  return await available(async () => {
    if (process.platform !== 'linux') throw new Unavailable('PgBouncer is started by itself only on Linux')
    await requireExecutable('pgbouncer', ['pgbouncer'], 'install pgbouncer')
    const target = new URL(url)
    const claim = await claimFolder(join(cacheFolder(), 'run'), 'pgbouncer')
    const port = await freePort()
    const file = join(claim.folder, 'pgbouncer.ini')
    const users = join(claim.folder, 'users.txt')
    writeFileSync(users, `"${target.username}" ""\n`)
    writeFileSync(
      file,
      `[databases]
* = host=${target.hostname} port=${target.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = transaction
default_pool_size = 10
`,
    )
    const { stop, ...control } = await startServer({
      claim,
      // It refuses to run as root, and gets the rights of nobody only after it has read its file.
      command: ['pgbouncer', ...(process.getuid?.() === 0 ? ['--user', 'nobody'] : []), file],
      stopSignal: 'INT',
      isReady: log => /process up/.test(log),
    })
    const pooled = new URL(url)
    pooled.port = `${port}`
    return { url: pooled.href, control, stop }
  })
}
