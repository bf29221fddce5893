import { z } from 'zod'
import { failures } from '../../http/envelope.ts'

/** Outside /api/v3, so it declares what the hooks there derive from an operation's access. */
export const openMqtt = {
  tags: ['Apps'],
  summary: 'MQTT over a WebSocket',
  description: 'With the subprotocol `mqtt`, in binary frames. What a device may publish is in docs/mqtt.md.',
  ...{ 'x-permission': 'device', security: [] },
  response: { 101: z.null().describe('The WebSocket is open'), ...failures(400, 426) },
}
