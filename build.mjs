import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

// Every command first builds what is not up to date. The compilers are development dependencies: without them, as after
// `npm prune --omit=dev`, what was built before runs. Where nothing was built, one sentence says what to do.
const COMPILERS = ['rolldown', 'tsx', 'typescript', 'vite']
const PRODUCTS = ['dist/server/src/main.js', 'dist/openapi.json', 'dist/console/index.html']
/** An installation goes on; a command that needs the program does not. */
const isInstallation = process.argv.includes('--install')

if (COMPILERS.every(name => existsSync(`node_modules/${name}`))) {
  for (const part of ['interface', 'server', 'console']) {
    const { status } = spawnSync('npm', ['run', '--silent', `build:${part}`], { stdio: 'inherit' })
    if (status !== 0) process.exit(status ?? 1)
  }
} else if (!PRODUCTS.every(existsSync)) {
  console.error(
    'Fieldline is not built, and its compilers are not installed here: run `npm ci`, which builds it, and then ' +
      '`npm prune --omit=dev` if you like. Or use the image: docker compose up --build fieldline.',
  )
  if (!isInstallation) process.exit(1)
} else if (!isInstallation) {
  console.error('Nothing is compiled without development dependencies: Fieldline runs as it was built.')
}
