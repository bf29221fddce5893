import { Kafka, logLevel } from 'kafkajs'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { type KafkaLog, type KafkaLogOptions, openKafkaLog } from '../../stream/kafka/log.ts'
import { RecordWriter, readRecord } from '../../stream/kafka/record.ts'
import type { Record } from '../../stream/log.ts'
import type { Entry, Point } from '../../stream/point.ts'
import { claimAlone, NOTHING_STORED, startTestKafka } from '../support/kafka.ts'
import { pause, until } from '../support/wait.ts'
import { createTable, point, sourceOf, subjectOf, type Table } from './entries.ts'
import { expel, JOIN_GROUP, openGate } from './gate.ts'

const PARTITIONS = 4
const gate = await openGate()
const kafka = await startTestKafka({ behind: gate.port })
gate.target = Number(kafka.brokers[0]?.split(':')[1])
const brokers = [`127.0.0.1:${gate.port}`]
const client = new Kafka({ brokers, logLevel: logLevel.NOTHING })
const subjects = Array.from({ length: 12 }, (_, n) => n + 1)
let count = 0

afterEach(() => kafka.missing ?? kafka.control.thaw())
afterAll(async () => {
  await kafka.stop()
  await gate.close()
})

function open(prefix: string, options: Partial<KafkaLogOptions> = {}): Promise<KafkaLog> {
  return openKafkaLog({
    brokers,
    prefix,
    partitions: PARTITIONS,
    replication: 1,
    claimLog: claimAlone,
    stored: NOTHING_STORED,
    onError: kafka.onError,
    ...options,
  })
}

/** Reads everything in the topic by partition, with a client of its own. */
async function readAll(log: KafkaLog): Promise<Map<number, Record[]>> {
  const all = new Map<number, Record[]>()
  const following = await log.follow(
    async () => new Map(),
    batch => all.set(batch.partition, [...(all.get(batch.partition) ?? []), ...batch.records]),
  )
  await following.close()
  return all
}

/** Reads the raw messages of a topic. */
async function readMessages(topic: string, atLeast: number) {
  const consumer = client.consumer({ groupId: `test-${++count}`, maxWaitTimeInMs: 200 })
  const messages: { value: Buffer | null; headers: { [name: string]: string } }[] = []
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  await consumer.run({
    eachMessage: async ({ message: { value, headers } }) => {
      const texts = Object.entries(headers ?? {}).map(([name, text]) => [name, String(text)])
      messages.push({ value, headers: Object.fromEntries(texts) })
    },
  })
  await until(`${atLeast} messages in ${topic}`, () => messages.length >= atLeast)
  await consumer.disconnect()
  return messages
}

async function produce(topic: string, partition: number, value: Buffer | null) {
  const producer = client.producer({ createPartitioner: () => args => args.message.partition as number })
  await producer.connect()
  await producer.send({ topic, messages: [{ partition, value }] })
  await producer.disconnect()
}

const times = (entries: readonly Entry[]) => entries.map(entry => (entry as Point).recordedAt)
const flatten = (records: Map<number, Record[]>) =>
  [...records.values()].flat().flatMap(record => record.entries)

describe.skipIf(kafka.missing)(`Kafka${kafka.missing ? ` (${kafka.missing})` : ''}`, () => {
  it('is given topics with the retention, the replication and the partitions of the configuration', async () => {
    const log = await open('made')
    const admin = client.admin()
    await admin.connect()
    for (const [name, partitions] of [
      ['made.points', PARTITIONS],
      ['made.points.dead', 1],
    ] as const) {
      const { topics } = await admin.fetchTopicMetadata({ topics: [name] })
      expect(topics[0]?.partitions).toHaveLength(partitions)
      const { resources } = await admin.describeConfigs({
        resources: [{ type: 2, name }],
        includeSynonyms: false,
      })
      const entries = resources[0]?.configEntries.map(entry => [entry.configName, entry.configValue])
      expect(Object.fromEntries(entries ?? [])).toMatchObject({
        'retention.ms': `${30 * 24 * 3600_000}`,
        'unclean.leader.election.enable': 'false',
        'min.insync.replicas': '1',
      })
    }
    await admin.disconnect()
    await log.close()
  })

  it('with a topic of another number of partitions is refused', async () => {
    await (await open('refused')).close()
    await expect(open('refused', { partitions: 6 })).rejects.toThrow(
      'The topic refused.points has 4 partitions, and KAFKA_PARTITIONS says 6',
    )
  })

  it('holds points that come together in shared records, which name their subjects', async () => {
    const log = await open('shared')
    await Promise.all(
      Array.from({ length: 2_000 }, (_, n) => {
        const subject = subjects[n % subjects.length] as number
        return log.append([point(subject, n)], sourceOf(subject))
      }),
    )
    const messages = await readMessages('shared.points', PARTITIONS)
    expect(messages.length).toBeLessThan(20)
    for (const { value } of messages) {
      const record = readRecord(value as Buffer)
      const keys = [...new Set(record.entries.map(entry => entry.subject))]
      expect(record.subjects).toEqual(keys.map(subjectOf))
    }
    await log.close()
  })

  it('moves unreadable records to the dead letters, with the reason, and continues', async () => {
    const log = await open('unreadable')
    const table = createTable()
    await log.append([point(4, 1)], sourceOf(4))
    const writer = new RecordWriter()
    writer.add(point(4, 2), [])
    const later = writer.finish()
    later[0] = 9
    await produce('unreadable.points', 0, later)
    await produce('unreadable.points', 0, Buffer.from('{"lat":1}'))
    await produce('unreadable.points', 0, null)
    await log.append([point(4, 3)], sourceOf(4))

    const storing = await log.store(table.store)
    await until('what is readable is stored', () => table.entries().length === 2)
    const letters = await readMessages('unreadable.points.dead', 3)
    expect(letters).toMatchObject([
      {
        value: later,
        headers: { reason: 'The record has version 9, known is 1', partition: '0', offset: '1' },
      },
      { value: Buffer.from('{"lat":1}'), headers: { topic: 'unreadable.points', offset: '2' } },
      { value: null, headers: { reason: 'The record has no value', offset: '3' } },
    ])
    expect(times(table.entries())).toEqual([1, 3])
    expect(await readAll(log)).toEqual(table.records)
    await storing.close()
    await log.close()
  })

  it('gives a point that the database would not take to the dead letters too', async () => {
    const log = await open('unstorable')
    const table = createTable()
    table.outcomes = batch => {
      const [first] = batch.records.flatMap(record => record.entries)
      const outcome = { kind: 'rejected', reason: 'unstorable', message: 'The database refused it.' } as const
      return first ? new Map([[first, outcome]]) : new Map()
    }
    await log.append([point(4, 1), point(4, 2)], sourceOf(4))
    const storing = await log.store(table.store)
    const [letter] = await readMessages('unstorable.points.dead', 1)
    expect(readRecord(letter?.value as Buffer).entries).toEqual([point(4, 1)])
    expect(letter?.headers).toMatchObject({ reason: 'The database refused it.', partition: '0', offset: '0' })
    await storing.close()
    await log.close()
  })

  it('has writers share the partitions as they come and go, and every record is stored', async () => {
    const writers: { log: KafkaLog; table: Table; close(): Promise<void> }[] = []
    const join = async () => {
      const log = await open('moving')
      const table = createTable()
      const storing = await log.store(table.store)
      const close = async () => {
        await storing.close()
        await log.close()
      }
      writers.push({ log, table, close })
    }
    const log = await open('moving')
    let going = true
    let n = 0
    const appending = (async () => {
      while (going) {
        await log.append(
          subjects.map(subject => point(subject, n)),
          sourceOf(...subjects),
        )
        n++
        await pause(20)
      }
    })()
    const tables = () => writers.map(({ table }) => table)
    await join()
    await until('the first stores', () => (tables()[0]?.entries().length ?? 0) > 100)
    await join()
    await until('the second stores', () => (tables()[1]?.entries().length ?? 0) > 100)
    await join()
    await until('the third stores', () => (tables()[2]?.entries().length ?? 0) > 100)
    await writers[0]?.close()
    await writers[1]?.close()
    going = false
    await appending
    const seen = () =>
      new Set(tables().flatMap(table => table.entries().map(e => `${e.subject}/${(e as Point).recordedAt}`)))
    await until('all is stored', () => seen().size === n * subjects.length)
    // A planned move of partitions passes the offset on: almost nothing is stored again.
    const handed = tables().flatMap(table => table.entries()).length
    expect(handed - seen().size).toBeLessThan(seen().size / 10)
    await writers[2]?.close()
    await log.close()
  })

  it('frozen for 12 s gets everything once, in order, when it thaws', async () => {
    const log = await open('frozen')
    const source = sourceOf(1, 2)
    const appended: Promise<unknown>[] = []
    await log.append([point(1, 0), point(2, 0)], source)
    for (let n = 1; n <= 12; n++) {
      appended.push(log.append([point(1, n), point(2, n)], source))
      if (n === 1) {
        await pause(0)
        kafka.control.freeze()
      }
      await pause(1_000)
    }
    kafka.control.thaw()
    await Promise.all(appended)
    const all = flatten(await readAll(log)) as Point[]
    for (const subject of [1, 2]) {
      expect(times(all.filter(entry => entry.subject === subject))).toEqual(
        Array.from({ length: 13 }, (_, n) => n),
      )
    }
    await log.close()
  })

  it('killed and restarted loses no record that is appended and followed meanwhile', async () => {
    const log = await open('killed')
    const table = createTable()
    const storing = await log.store(table.store)
    const followed: Record[] = []
    const following = await log.follow(
      async () => new Map(),
      batch => followed.push(...batch.records),
    )
    let going = true
    let n = 0
    const appending = (async () => {
      while (going) {
        await log.append([point(4, n++)], sourceOf(4))
        await pause(2)
      }
    })()
    await pause(500)
    await kafka.control.kill9()
    await kafka.control.start()
    const before = n
    await until('it goes on', () => n > before + 100)
    going = false
    await appending
    const expected = Array.from({ length: n }, (_, time) => time)
    await until('stored', () => table.entries().length >= n)
    await until('followed', () => followed.flatMap(record => record.entries).length >= n)
    expect(times(table.entries())).toEqual(expected)
    expect(times(followed.flatMap(record => record.entries))).toEqual(expected)
    await following.close()
    await storing.close()
    await log.close()
  })

  it('does not keep the group of a follower that has ended', async () => {
    const log = await open('groups')
    const following = await log.follow(
      async () => new Map(),
      () => {},
    )
    const admin = client.admin()
    await admin.connect()
    const own = async () =>
      (await admin.listGroups()).groups.filter(({ groupId }) => groupId.startsWith('groups.live.'))
    expect(await own()).toHaveLength(1)
    await following.close()
    // The broker lists a group for a moment after it has agreed to delete it.
    await until('the group is gone', async () => (await own()).length === 0)
    await admin.disconnect()
    await log.close()
  })

  it('continues above the offsets of another log', async () => {
    const bases = new Map([[0, 1_000_000]])
    const claimed: unknown[] = []
    const claimLog: KafkaLogOptions['claimLog'] = async (log, partitions, begin) => {
      claimed.push([log, partitions, (await begin?.()) ?? false])
      return bases
    }
    const log = await open('above', { claimLog })
    const table = createTable()
    const storing = await log.store(table.store)
    await log.append([point(4, 1), point(1, 1)], sourceOf(4, 1))
    await until('stored', () => table.entries().length === 2)
    expect(table.positions()).toEqual(
      new Map([
        [0, 1_000_001],
        [1, 1],
      ]),
    )
    const followed: Record[] = []
    const positions = new Map([
      [0, 1_000_000],
      [1, 1],
    ])
    const following = await log.follow(
      async () => positions,
      batch => followed.push(...batch.records),
    )
    expect(followed).toMatchObject([{ offset: 1_000_000, entries: [point(4, 1)] }])
    await following.close()
    await storing.close()
    await log.close()
    await (await open('above', { claimLog })).close()
    expect(claimed).toEqual([
      [expect.stringMatching(/^.+\/above\.points$/), PARTITIONS, true],
      [expect.stringMatching(/^.+\/above\.points$/), PARTITIONS, false],
    ])
  })

  it('takes a writer back that it does not know any more, though the next join fails', async () => {
    const notes: object[] = []
    const log = await open('expelled', {
      onNote: (details, message) => void notes.push({ message, ...details }),
    })
    const table = createTable()
    const storing = await log.store(table.store)
    await log.append([point(4, 1)], sourceOf(4))
    await until('stored', () => table.entries().length === 1)
    const admin = client.admin()
    await admin.connect()
    const listMembers = async () =>
      (await admin.describeGroups(['expelled.writers'])).groups.flatMap(group =>
        group.members.map(member => member.memberId),
      )
    const [member] = await listMembers()
    gate.breakNext(JOIN_GROUP)
    await expel(gate.target, 'expelled.writers', member as string)
    await log.append([point(4, 2)], sourceOf(4))
    await until('what was appended meanwhile is committed', async () =>
      [...(await log.readLag()).values()].every(records => records === 0),
    )
    const again = await listMembers()
    expect(again).toHaveLength(1)
    expect(again).not.toContain(member)
    const joined = { message: 'Joined a group of Kafka', group: 'expelled.writers', partitions: [0, 1, 2, 3] }
    expect(notes).toMatchObject([joined, joined])
    await admin.disconnect()
    await storing.close()
    expect(log.writing?.partitions).toEqual([])
    await log.close()
  })

  it('says how far the writers are behind', async () => {
    const log = await open('lag')
    const table = createTable()
    const begun = Date.now()
    await log.append([point(4, 1)], sourceOf(4))
    const appended = Date.now()
    await log.append([point(4, 2)], sourceOf(4))
    expect(Object.fromEntries(await log.readLag())).toEqual({ 0: 2, 1: 0, 2: 0, 3: 0 })
    let release = () => {}
    table.before = () =>
      new Promise(resolve => {
        release = resolve
      })
    const storing = await log.store(table.store)
    await until('in hand', () => table.handed.length > 0)
    expect(log.unstoredSince.get(0)).toBeGreaterThanOrEqual(begun)
    expect(log.unstoredSince.get(0)).toBeLessThanOrEqual(appended)
    release()
    await until('caught up', async () => ((await log.readLag()).get(0) ?? 0) === 0)
    expect(log.unstoredSince.size).toBe(0)
    await storing.close()
    expect(await log.answers()).toBe(true)
    kafka.control.freeze()
    expect(await log.answers()).toBe(false)
    kafka.control.thaw()
    await log.close()
  })
})
