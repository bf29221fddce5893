import { expect, it } from 'vitest'
import { splitUrl } from '../../db/drivers/postgres-hosts.ts'

it.each([
  ['postgres://a/name', ['postgres://a/name']],
  [
    'postgres://u:p%40q@a:1,b:2/name?sslmode=require',
    ['postgres://u:p%40q@a:1/name?sslmode=require', 'postgres://u:p%40q@b:2/name?sslmode=require'],
  ],
  ['postgresql://[::1]:5432,[::2],c', ['postgresql://[::1]:5432', 'postgresql://[::2]', 'postgresql://c']],
  ['postgres:///name?host=/run', ['postgres:///name?host=/run']],
])('The address %s names the servers %s', (url, urls) => {
  expect(splitUrl(url)).toEqual(urls)
})
