import exceljs from 'exceljs'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { ended, importFile, upload } from '../support/imports.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { findBarriersInThemes, useBrowser } from './browser.ts'

describe('Failed rows that are mended in place', () => {
  const { server, owner } = useOrganization()
  const screens = useBrowser({ map: 'none' })
  let dataTypeId = ''

  beforeAll(async () => {
    const fields = [
      { key: 'number', label: 'Number', type: 'text' },
      { key: 'phone', label: 'Phone', type: 'phone' },
      { key: 'since', label: 'Since', type: 'date' },
      { key: 'price', label: 'Price', type: 'number' },
    ]
    const made = await owner.post('/data-type', { name: 'Mended', primaryKey: 'number', fields })
    dataTypeId = made.body.data._id
  })

  const open = async (file: string | Buffer, fileName: string) => {
    const { _id } = await importFile(server, owner, file, { dataTypeId, mode: 'upsert' }, fileName)
    const page = await screens.open(`${server.url}/imports?import=${_id}`, { as: owner })
    await page.getByRole('button', { name: 'Mend them here' }).click()
    await page.getByRole('grid', { name: 'Failed rows' }).waitFor()
    return { page, _id }
  }
  const cell = (page: Page, text: string) => page.getByRole('gridcell', { name: text, exact: true })
  /** The import that came after this one, when it has ended. */
  const next = async (importId: string) => {
    const read = async () => (await owner.get('/import-monitoring?limit=1')).body.data[0]
    await until('another import', async () => (await read())._id !== importId)
    return ended(owner, (await read())._id)
  }
  const said = (page: Page, words: string) =>
    page.getByRole('dialog').getByText(words, { exact: true }).waitFor()
  const stored = async () =>
    Object.fromEntries(
      (await owner.get(`/data?dataTypeId=${dataTypeId}&limit=500`)).body.data.map(
        ({ data }: { data: { number: string } }) => [data.number, data],
      ),
    )

  it('are written into by keyboard, and only they are sent, as another import', async () => {
    const { page, _id } = await open(
      'Number,Phone,Since,Price\na,n/a,2026-01-02,1.5\nb,+1 415 555 0002,2026-01-02,2.5\nc,never,2026-01-03,"3.5"\n',
      'shops.csv',
    )
    // It begins at the first cell that fails, and says why, with the row's number in the file.
    await cell(page, 'n/a').focus()
    await page
      .getByRole('status')
      .filter({ hasText: /Row 2: .*phone/i })
      .waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    await cell(page, 'n/a').focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.type('+1 415 555 0001')
    await page.keyboard.press('Escape')
    await cell(page, 'n/a').waitFor()
    await page.keyboard.type('+1 415 555 0001')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Import 1 mended row' }).click()
    const latest = await next(_id)
    await said(page, '1 created')
    const all = await stored()
    expect(all.a).toMatchObject({ phone: '+1 415 555 0001', since: '2026-01-02', price: 1.5 })
    expect(all.c).toBeUndefined()
    expect(latest).toMatchObject({ mode: 'upsert', total: 1, created: 1, failed: 0, fileName: 'shops.csv' })
  })

  it('take a range that is pasted, and say again what is still wrong', async () => {
    const { page, _id } = await open('Number,Phone\nd,bad\ne,bad\nf,bad\n', 'more.csv')
    await page.getByRole('gridcell', { name: 'bad' }).first().focus()
    await page.evaluate(() => {
      const data = new DataTransfer()
      data.setData('text/plain', '+1 415 555 0004\n+1 415 555 0005\nstill bad\n')
      const event = new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true })
      document.activeElement?.dispatchEvent(event)
    })
    await page.getByRole('button', { name: 'Import 3 mended rows' }).click()
    await next(_id)
    await said(page, '2 created')
    await said(page, '1 failed')
    expect(Object.keys(await stored())).toEqual(expect.arrayContaining(['d', 'e']))
  })

  it('of a workbook stay dates and numbers, and of JSON values', async () => {
    const workbook = new exceljs.Workbook()
    const sheet = workbook.addWorksheet('Shops')
    sheet.addRow(['Number', 'Phone', 'Since', 'Price'])
    sheet.addRow(['x', 'no & <phone>', new Date('2026-03-04T00:00:00Z'), 1234.5])
    sheet.addRow(['y', 'none', new Date('2026-03-05T00:00:00Z'), 7])
    const { page, _id } = await open(Buffer.from(await workbook.xlsx.writeBuffer()), 'shops.xlsx')
    await cell(page, 'no & <phone>').focus()
    await page.keyboard.type('+1 415 555 0008')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Import 1 mended row' }).click()
    expect(await next(_id)).toMatchObject({ created: 1, failed: 0 })
    const json = JSON.stringify([
      { data: { number: 'j', phone: 'no', price: 4.25 } },
      { data: { number: 'k', price: 'many' } },
    ])
    const { page: other, _id: jsonId } = await open(json, 'shops.json')
    await cell(other, 'no').focus()
    await other.keyboard.type('+1 415 555 0009')
    await other.keyboard.press('Enter')
    await cell(other, 'many').focus()
    await other.keyboard.type('12')
    await other.keyboard.press('Tab')
    await other.getByRole('button', { name: 'Import 2 mended rows' }).click()
    expect(await next(jsonId)).toMatchObject({ created: 2, failed: 0 })
    const all = await stored()
    expect(all).toMatchObject({
      x: { phone: '+1 415 555 0008', since: '2026-03-04', price: 1234.5 },
      j: { phone: '+1 415 555 0009', price: 4.25 },
      k: { price: 12 },
    })
    expect(all.y).toBeUndefined()
  })

  it('and the import that wrote them is undone after a question', async () => {
    const { body } = await upload(server, owner, 'Number\nundo-1\nundo-2\n', { dataTypeId }, 'undo.csv')
    const page = await screens.open(`${server.url}/imports?import=${body.data._id}`, { as: owner })
    await said(page, '2 created')
    await page.getByRole('button', { name: 'Undo this import' }).click()
    await page.getByText(/The 2 records that it created are deleted/).waitFor()
    expect(await findBarriersInThemes(page)).toEqual([])
    await page.getByRole('alert').getByRole('button', { name: 'Undo this import' }).click()
    await page.getByText('2 deleted').waitFor()
    await page.getByText('Undone').waitFor()
    expect(await page.getByRole('button', { name: 'Undo this import' }).count()).toBe(0)
    expect(Object.keys(await stored()).filter(key => key.startsWith('undo'))).toEqual([])
  })
})
