import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder } from './cache.ts'
import { freePort } from './commands.ts'
import { requireExecutable } from './debian.ts'
import { claimFolder } from './folders.ts'
import { startServer } from './server.ts'
import { available, type Control, type Service, Unavailable } from './services.ts'

export interface Mosquitto {
  port: number
  control: Control
}

/**
 * Another MQTT broker, for comparing answers and speed. `config` is appended to mosquitto.conf(5). Also ensures that
 * `mosquitto_pub` and `mosquitto_sub` are installed, clients that do not share our MQTT library.
 */
export async function startMosquitto(options: { config?: string } = {}): Promise<Service<Mosquitto>> {
  return await available(async () => {
    if (process.platform !== 'linux') throw new Unavailable('Mosquitto is started by itself only on Linux')
    const instead = 'install mosquitto and mosquitto-clients'
    for (const name of ['mosquitto', 'mosquitto_pub', 'mosquitto_sub']) {
      await requireExecutable(name, ['mosquitto', 'mosquitto-clients'], instead)
    }
    const claim = await claimFolder(join(cacheFolder(), 'run'), 'mosquitto')
    const port = await freePort()
    const file = join(claim.folder, 'mosquitto.conf')
    const basis = [
      `listener ${port} 127.0.0.1`,
      'allow_anonymous true',
      'persistence false',
      'log_dest stderr',
    ]
    writeFileSync(file, `${basis.join('\n')}\n${options.config ?? ''}\n`)
    const { stop, ...control } = await startServer({
      claim,
      command: ['mosquitto', '-c', file],
      stopSignal: 'TERM',
      isReady: log => / version \S+ running$/m.test(log),
    })
    return { port, control, stop }
  })
}
