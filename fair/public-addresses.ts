import { type LookupAddress, lookup as lookupAddresses } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

// https://www.iana.org/assignments/iana-ipv4-special-registry: networks that are not globally reachable, and multicast.
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
// Only 2000::/3 of IPv6 is global; these exceptions are inside it: Teredo and other protocols, documentation, 6to4.
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

/** Whether an address is public: neither private, loopback, link-local nor otherwise special. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !special.check(address, 'ipv4')
  // IPv4-mapped addresses are outside of 2000::/3, so none of them is public.
  return family === 6 && globalV6.check(address, 'ipv6') && !special.check(address, 'ipv6')
}

/** The message omits the address: otherwise users could find out to what names of the internal network resolve. */
export class AddressNotPublic extends Error {
  constructor() {
    super('The receiver has an address that is private, loopback or link-local')
  }
}

/** Resolves all addresses of a name. */
export type Resolve = (hostname: string) => Promise<LookupAddress[]>

const resolveByDns: Resolve = hostname =>
  new Promise((resolve, reject) =>
    lookupAddresses(hostname, { all: true }, (error, addresses) =>
      error ? reject(error) : resolve(addresses),
    ),
  )

/**
 * A `lookup` for connecting that only returns checked addresses: the connection goes to the address that was checked,
 * whatever the name resolves to a moment later. It is not called for literal addresses.
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

/** The address in a URL whose host is an IP address, or null. */
export function literalAddress({ hostname }: URL): string | null {
  const host = hostname.replace(/^\[|\]$/g, '')
  return isIP(host) ? host : null
}
