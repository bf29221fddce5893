import { expect, it } from 'vitest'
import { networkOf, siteOf } from '../../fair/network.ts'

it.each([
  ['an IPv4 address', '192.0.2.1', '192.0.2.1'],
  ['an IPv4 address in IPv6', '::ffff:192.0.2.1', '192.0.2.1'],
  ['the same in hexadecimal digits', '::ffff:c000:201', '192.0.2.1'],
  ['an IPv6 address', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['its neighbour', '2001:0DB8:1:2::9', '2001:db8:1:2::/64'],
  ['another customer', '2001:db8:1:3::1', '2001:db8:1:3::/64'],
  ['the loopback address', '::1', '0:0:0:0::/64'],
  ['an address with its zone', 'fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['no address', '', ''],
])('The network of %s is limited', (_name, address, network) => {
  expect(networkOf(address)).toBe(network)
})

it.each([
  ['an IPv4 address', '192.0.2.1', '192.0.2.1'],
  ['an IPv6 address', '2001:db8:1:2:3:4:5:6', '2001:db8:1::/48'],
  ['another network of the same customer', '2001:db8:1:3::1', '2001:db8:1::/48'],
  ['another customer', '2001:db8:2::1', '2001:db8:2::/48'],
  ['no address', '', ''],
])('The site of %s is what is scarce', (_name, address, site) => {
  expect(siteOf(address)).toBe(site)
})
