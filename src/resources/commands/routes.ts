import type { Queryable } from '../../../db/client.ts'
import {
  COMMAND_SORTS,
  deleteCommand,
  findCommand,
  insertCommand,
  listCommands,
  MAX_QUEUED_OF_DEVICE,
  MAX_QUEUED_OF_ORGANIZATION,
} from '../../../db/queries/commands.ts'
import { findDevice } from '../../../db/queries/devices.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import { audited } from '../../http/audit.ts'
import { created, ok } from '../../http/envelope.ts'
import { conflict, found, invalid } from '../../http/errors.ts'
import { listed, readPageRequest } from '../../http/lists.ts'
import type { App, Services } from '../../services.ts'
import * as operations from './schemas.ts'

export function commandRoutes(app: App, { db }: Services): void {
  app.get('/device/:id/commands', operations.listCommands, async ({ caller, params, query }) => {
    const page = readPageRequest(query, COMMAND_SORTS)
    const commands = await db.tenant(caller.organizationId, async tx => {
      const deviceId = await checkDevice(tx, params.id, caller)
      return listCommands(tx, deviceId, { state: query.state }, page)
    })
    return listed(commands, query)
  })

  app.post('/device/:id/command', operations.createCommand, async (request, reply) => {
    const { name, expiresInSeconds } = request.body
    const payload = JSON.stringify(request.body.payload)
    if (Buffer.byteLength(payload) > operations.MAX_PAYLOAD_BYTES)
      throw invalid('payload', TOO_LARGE, 'too-large', { params: { limit: operations.MAX_PAYLOAD_BYTES } })
    const command = await audited(db, request, async (tx, caller) => {
      const { organizationId } = caller
      const deviceId = await checkDevice(tx, request.params.id, caller)
      const command = { organizationId, deviceId, name, payload, expiresInSeconds }
      const made = found('device', await insertCommand(tx, command))
      if ('full' in made) throw conflict(FULL[made.full], 'too-many-records')
      return { before: null, after: found('command', await findCommand(tx, deviceId, made.id)) }
    })
    return created(reply, command, 'Command created')
  })

  app.delete('/device/:id/command/:commandId', operations.deleteCommand, async request => {
    const { id, commandId } = request.params
    const withdraw = async (tx: Queryable, caller: Caller) => {
      const before = found('command', await findCommand(tx, await checkDevice(tx, id, caller), commandId))
      if (!(await deleteCommand(tx, caller.organizationId, commandId)))
        throw conflict('The command was sent already, or has expired.')
      return { before, after: null }
    }
    await audited(db, request, withdraw, 'delete')
    return ok({ _id: commandId }, 'Command withdrawn')
  })
}

const TOO_LARGE = `This has to have at most ${operations.MAX_PAYLOAD_BYTES.toLocaleString('en')} bytes as JSON.`
const FULL = {
  device: `The device has ${MAX_QUEUED_OF_DEVICE} commands that wait to be sent already.`,
  organization: `The organization has ${MAX_QUEUED_OF_ORGANIZATION.toLocaleString('en')} commands that wait to be sent already.`,
}

const checkDevice = async (tx: Queryable, deviceId: string, { hubIds }: Caller): Promise<string> =>
  found('device', await findDevice(tx, deviceId, hubIds))._id
