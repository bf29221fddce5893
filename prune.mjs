import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

// The compiler leaves what became of a file that was moved or deleted since, and whatever still imports it would run an
// older program. So the last step of a build removes from dist/ every output without a source.
for (const floor of ['src', 'ingest', 'stream', 'db', 'fair']) {
  const outputs = join('dist', floor)
  if (!existsSync(outputs)) continue
  for (const name of readdirSync(outputs, { recursive: true, encoding: 'utf8' })) {
    const source = /^(.+)\.js(\.map)?$/.exec(name)?.[1]
    if (source && !existsSync(join(floor, `${source}.ts`))) rmSync(join(outputs, name), { force: true })
  }
}
