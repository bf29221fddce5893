import ipaddr from 'ipaddr.js'

/**
 * The network that limits by address apply to: an IPv4 address itself, and the /64 of an IPv6 address, since one customer has
 * a whole /64 and could use a new address every time. Text that is no address is returned as it is.
 */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (!(parsed instanceof ipaddr.IPv6)) return parsed.toString()
  const groups = parsed.parts.slice(0, 4).map(group => group.toString(16))
  return `${groups.join(':')}::/64`
}
