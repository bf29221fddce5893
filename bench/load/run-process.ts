import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/**
 * Runs a measurement in a process of its own, so that it shares neither an event loop nor a heap with the caller. The
 * order goes in as one line of JSON on standard input, and the result comes back as one line on standard output. Any
 * error ends the child with an error.
 */
export async function inProcess<Result>(module: URL, order: unknown): Promise<Result> {
  const child = spawn(process.execPath, ['--import', 'tsx', fileURLToPath(module)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  // An interrupted run must not leave it behind.
  const end = () => child.kill()
  process.once('exit', end)
  let output = ''
  child.stdout.setEncoding('utf8')
  child.stdout.on('data', (chunk: string) => {
    output += chunk
  })
  child.stdin.end(JSON.stringify(order))
  const [code, signal] = await once(child, 'close')
  process.off('exit', end)
  if (code !== 0) throw new Error(`${fileURLToPath(module)} ended with ${signal ?? code}`)
  return JSON.parse(output) as Result
}

/** The other side of `inProcess`. */
export function runProcess<Order>(work: (order: Order) => Promise<unknown>): void {
  let input = ''
  process.stdin.setEncoding('utf8')
  process.stdin.on('data', (chunk: string) => {
    input += chunk
  })
  process.stdin.on('end', () => {
    work(JSON.parse(input) as Order).then(
      result => process.stdout.write(JSON.stringify(result)),
      error => {
        process.stderr.write(`${error instanceof Error ? error.stack : error}\n`)
        process.exit(1)
      },
    )
  })
}

/** Runs a script of this directory's parent to its end, in a process of its own. */
export async function runScript(path: string, args: readonly string[]): Promise<void> {
  const script = fileURLToPath(new URL(`../${path}`, import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', script, ...args], { stdio: 'inherit' })
  const end = () => child.kill()
  process.once('exit', end)
  const [code, signal] = await once(child, 'exit')
  process.off('exit', end)
  if (code !== 0) throw new Error(`${path} ended with ${signal ?? code}`)
}
