import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** A load generator that takes orders while it runs: see `obeyLines`. */
export interface Generator<Order> {
  ask<Answer>(order: Order): Promise<Answer>
  end(): Promise<void>
}

/** Starts a module in a process of its own. It reads one order per line, and answers each with a line. */
export function startGenerator<Order>(module: URL): Generator<Order> {
  const child = spawn(process.execPath, ['--import', 'tsx', fileURLToPath(module)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  // An interrupted run must not leave it behind.
  const kill = () => child.kill()
  process.once('exit', kill)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async ask<Answer>(order: Order): Promise<Answer> {
      child.stdin.write(`${JSON.stringify(order)}\n`)
      const { value, done } = await lines.next()
      if (done) throw new Error('The load generator has ended')
      return JSON.parse(value) as Answer
    },
    async end(): Promise<void> {
      process.off('exit', kill)
      if (child.exitCode !== null) return
      const exit = once(child, 'exit')
      child.stdin.end()
      await exit
    },
  }
}

/** The other side of `startGenerator`. The process ends with its input. */
export function obeyLines<Order>(obey: (order: Order) => Promise<unknown>): void {
  createInterface({ input: process.stdin })
    .on('line', line => {
      obey(JSON.parse(line) as Order).then(
        answer => process.stdout.write(`${JSON.stringify(answer)}\n`),
        error => {
          process.stderr.write(`${error instanceof Error ? error.stack : error}\n`)
          process.exit(1)
        },
      )
    })
    .on('close', () => process.exit(0))
}
