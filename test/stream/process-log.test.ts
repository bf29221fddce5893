import { createProcessLog } from '../../stream/process-log.ts'
import { testLog } from './log-contract.ts'

testLog('of one process', {
  partitions: 3,
  tellsOutcomes: true,
  async create() {
    let release = () => {}
    return {
      async open(table, options) {
        return createProcessLog({ partitions: 3, start: table.positions(), ...options, onError: () => {} })
      },
      async hold(table) {
        const before = table.before
        const held = new Promise<void>(resolve => {
          release = resolve
        })
        table.before = async batch => {
          await held
          await before(batch)
        }
        return async () => release()
      },
      // What is durable is in the table; there is nothing else to take down.
      crash: async () => {},
    }
  },
})
