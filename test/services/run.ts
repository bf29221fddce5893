/**
 * `npm run services`: PostgreSQL and Kafka for development without Docker, on the usual ports if those are free. Prints
 * the environment variables and runs until Ctrl-C, which deletes the data.
 */
import { startKafka } from './kafka.ts'
import { startPostgres } from './postgres.ts'

const stopped = new Promise<void>(resolve => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve())
})

const [postgres, kafka] = await Promise.all([
  startPostgres({ own: true, port: 5432 }),
  startKafka({ own: true, port: 9092 }),
])
if (postgres.available) process.stdout.write(`DATABASE_URL=${postgres.url}\n`)
if (kafka.available) process.stdout.write(`KAFKA_BROKERS=${kafka.brokers}\n`)
for (const service of [postgres, kafka]) {
  if (!service.available) process.stderr.write(`${service.reason}\n`)
}

if (postgres.available || kafka.available) {
  process.stderr.write('Ctrl-C stops them.\n')
  // Servers do not keep this process alive, see server.ts.
  const alive = setInterval(() => {}, 60_000)
  await stopped
  clearInterval(alive)
  await Promise.all([postgres, kafka].map(service => (service.available ? service.stop() : undefined)))
} else {
  process.exitCode = 1
}
