import ipaddr from 'ipaddr.js'

/**
 * The network that limits by address apply to: an IPv4 address itself, and the /64 of an IPv6 address, since one customer has
 * a whole /64 and could use a new address every time. Text that is no address is returned as it is.
 */
export const networkOf = (address: string): string => within(address, 64)

/** The same for what has to be scarce: many providers give one customer a /48, which has 65,536 networks. */
export const siteOf = (address: string): string => within(address, 48)

function within(address: string, bits: 48 | 64): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (!(parsed instanceof ipaddr.IPv6)) return parsed.toString()
  const groups = parsed.parts.slice(0, bits / 16).map(group => group.toString(16))
  return `${groups.join(':')}::/${bits}`
}
