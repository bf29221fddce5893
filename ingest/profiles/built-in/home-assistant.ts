import { readNumber } from '../numbers.ts'
import { readReference, skip } from '../payload.ts'
import { type BuiltInProfile, type Fields, type Read, readOne, readPlace } from './reading.ts'

/**
 * Home Assistant's device trackers over MQTT (https://www.home-assistant.io/integrations/device_tracker.mqtt/): the
 * attributes have a place, the state is the name of a zone. Without a time it is the time of receipt.
 */
export const homeAssistant = {
  name: 'Home Assistant',
  topic: 'homeassistant/device_tracker/#',
  read: (message, receivedAt) => {
    const levels = message.topic?.split('/') ?? []
    const reference = readReference(levels.at(-2))
    if (message.topic !== null && levels.at(-1) !== 'attributes')
      return skip(reference, 'Only attributes hold a place.')
    return readOne(message, receivedAt, { reference: () => reference, read: readAttributes })
  },
} satisfies BuiltInProfile

function readAttributes(attributes: Fields): Read {
  const place = readPlace(attributes.latitude, attributes.longitude)
  if (typeof place === 'string') return place
  return {
    ...place,
    timestamp: undefined,
    speed: readNumber(attributes.speed),
    heading: readNumber(attributes.course),
    accuracy: readNumber(attributes.gps_accuracy),
    altitude: readNumber(attributes.altitude),
    battery: readNumber(attributes.battery_level ?? attributes.battery),
  }
}
