import { type LookupAddress, lookup as lookupAddresses } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

// https://www.iana.org/assignments/iana-ipv4-special-registry: what is not reachable from everywhere, and multicast.
const SPECIAL_V4: readonly [string, number][] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
]
// Of IPv6 only 2000::/3 is global; within it these lead elsewhere: Teredo and other protocols, documentation, 6to4.
const SPECIAL_V6: readonly [string, number][] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]
const special = new BlockList()
for (const [net, prefix] of SPECIAL_V4) special.addSubnet(net, prefix, 'ipv4')
for (const [net, prefix] of SPECIAL_V6) special.addSubnet(net, prefix, 'ipv6')
const globalV6 = new BlockList()
globalV6.addSubnet('2000::', 3, 'ipv6')

/** Whether an address belongs to everybody's network: neither private, loopback, link-local nor otherwise special. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !special.check(address, 'ipv4')
  // IPv4-mapped addresses are outside 2000::/3, and so not public as a whole.
  return family === 6 && globalV6.check(address, 'ipv6') && !special.check(address, 'ipv6')
}

/** Does not say the address: whoever makes a webhook would read what names of the inner network resolve to. */
export class AddressNotPublic extends Error {
  constructor() {
    super('The receiver has an address that is private, loopback or link-local')
  }
}

/** All addresses of a name. */
export type Resolve = (hostname: string) => Promise<LookupAddress[]>

const resolveByDns: Resolve = hostname =>
  new Promise((resolve, reject) =>
    lookupAddresses(hostname, { all: true }, (error, addresses) =>
      error ? reject(error) : resolve(addresses),
    ),
  )

/**
 * A `lookup` for connecting that answers only addresses which were checked: what is checked is what is connected to,
 * whatever the name says a moment later. It is not called for literal addresses.
 */
export function createPublicLookup(resolve: Resolve = resolveByDns): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      addresses => {
        const isHidden = addresses.some(({ address }) => !isPublicAddress(address))
        const [first] = addresses
        if (isHidden) callback(new AddressNotPublic(), '', 0)
        else if (!first) callback(new Error(`${hostname} has no address`), '', 0)
        else if (options.all) callback(null, addresses)
        else callback(null, first.address, first.family)
      },
      error => callback(error, '', 0),
    )
  }
}

/** The address where the host of a URL is one. */
export function literalAddress({ hostname }: URL): string | null {
  const host = hostname.replace(/^\[|\]$/g, '')
  return isIP(host) ? host : null
}
