import type { SetUpSession } from './drivers/driver.ts'
import { foldEmail } from './email-address.ts'

const ROWS_AT_ONCE = 5_000
/** ASCII addresses were folded in the same way before. */
const isBeyondAscii = (column: string) => `octet_length(${column}) <> char_length(${column})`

/**
 * The part of the migration `0087_folded_addresses.sql` that SQL cannot compute: folds the addresses of accounts, and
 * those among the unique values of data records. If two of them become one address, the older account keeps it, or one
 * of the records.
 */
export async function foldStoredAddresses(run: SetUpSession['run']): Promise<void> {
  await foldAccounts(run)
  await foldKeys(run)
}

async function foldAccounts(run: SetUpSession['run']): Promise<void> {
  for (let after: string | null = null; ; ) {
    const rows = (await run({
      text: `SELECT id, email FROM accounts WHERE folded_email IS NULL AND ($1::uuid IS NULL OR id > $1)
        ORDER BY id LIMIT ${ROWS_AT_ONCE}`,
      values: [after],
    })) as { id: string; email: string }[]
    const last = rows.at(-1)
    if (!last) return
    await run({
      text: `UPDATE accounts a SET folded_email = w.folded
        FROM (SELECT DISTINCT ON (folded) id, folded FROM unnest($1::uuid[], $2::text[]) AS given(id, folded)
          ORDER BY folded, id) w
        WHERE a.id = w.id AND NOT EXISTS (SELECT FROM accounts o WHERE o.folded_email = w.folded)`,
      values: [rows.map(({ id }) => id), rows.map(({ email }) => foldEmail(email))],
    })
    after = last.id
  }
}

interface Key {
  organizationId: string
  dataTypeId: string
  field: string
  value: string
  recordId: string
}

async function foldKeys(run: SetUpSession['run']): Promise<void> {
  for (let last: Key | undefined; ; ) {
    const keys = (await run({
      text: `SELECT k.organization_id AS "organizationId", k.data_type_id AS "dataTypeId", k.field, k.value,
          k.record_id AS "recordId"
        FROM data_keys k JOIN data_types t ON t.organization_id = k.organization_id AND t.id = k.data_type_id
        WHERE ${isBeyondAscii('k.value')}
          AND t.fields @> jsonb_build_array(jsonb_build_object('key', k.field, 'type', 'email'))
          AND ($1::uuid IS NULL OR (k.organization_id, k.data_type_id, k.field, k.value) > ($1, $2::uuid, $3::text, $4::text))
        ORDER BY k.organization_id, k.data_type_id, k.field, k.value LIMIT ${ROWS_AT_ONCE}`,
      values: last
        ? [last.organizationId, last.dataTypeId, last.field, last.value]
        : [null, null, null, null],
    })) as Key[]
    if (keys.length === 0) return
    const moved = keys.filter(({ value }) => foldEmail(value) !== value)
    const columns = [
      moved.map(({ organizationId }) => organizationId),
      moved.map(({ dataTypeId }) => dataTypeId),
      moved.map(({ field }) => field),
    ]
    await run({
      text: `DELETE FROM data_keys k USING unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[])
          AS w(organization_id, data_type_id, field, value)
        WHERE k.organization_id = w.organization_id AND k.data_type_id = w.data_type_id AND k.field = w.field
          AND k.value = w.value`,
      values: [...columns, moved.map(({ value }) => value)],
    })
    await run({
      text: `INSERT INTO data_keys (organization_id, data_type_id, field, value, record_id)
        SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::uuid[]) ON CONFLICT DO NOTHING`,
      values: [...columns, moved.map(({ value }) => foldEmail(value)), moved.map(({ recordId }) => recordId)],
    })
    last = keys.at(-1)
  }
}
