/** The data type of the records that are imported and exported. */
export const CUSTOMERS = {
  name: 'Customers',
  primaryKey: 'code',
  fields: [
    { key: 'code', label: 'Code', type: 'text' },
    { key: 'name', label: 'Name', type: 'text' },
    { key: 'email', label: 'E-mail', type: 'email' },
    { key: 'phone', label: 'Phone', type: 'phone' },
    { key: 'city', label: 'City', type: 'text' },
    { key: 'vip', label: 'VIP', type: 'boolean' },
    { key: 'revenue', label: 'Revenue', type: 'number' },
    { key: 'since', label: 'Since', type: 'date' },
  ],
}

export const HEADINGS = CUSTOMERS.fields.map(({ label }) => label)

/** The values of a record, in the order of the fields. */
export const customer = (n: number) => ({
  code: `C${n}`,
  name: `Customer number ${n} Ltd`,
  email: `contact${n}@example.com`,
  phone: `+49 30 ${String(n).padStart(8, '0')}`,
  city: `City ${n % 50}`,
  vip: n % 10_000 === 0,
  revenue: (n * 7919) % 1_000_003,
  since: `${2000 + (n % 25)}-01-01`,
})
