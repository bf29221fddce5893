import { useMutation } from '@tanstack/react-query'
import { Button, Menu, MenuItem, MenuTrigger, Popover } from 'react-aria-components'
import { readName } from '../../api/lists.ts'
import { Icon } from '../../parts/icon.tsx'
import { Trouble } from '../../parts/parts.tsx'
import { saveFile } from '../../parts/save-file.ts'
import type { Span, Subject } from './address.ts'
import { usePlaybackTexts } from './texts.ts'
import { type FileFormat, readFile } from './track-queries.ts'

const FORMATS: FileFormat[] = ['gpx', 'geojson', 'csv']

interface Props {
  subjects: readonly Subject[]
  span: Span
  day: string
  anomalies: boolean
}

/** Downloads every point of the day as a file. */
export function Downloads({ subjects, span, day, anomalies }: Props) {
  const t = usePlaybackTexts()
  const load = useMutation({
    mutationFn: async (format: FileFormat) =>
      saveFile(
        await readFile(subjects, span, format, anomalies),
        `${await nameOf(subjects)} ${day}.${format}`,
      ),
  })
  return (
    <>
      <MenuTrigger>
        <Button className={`button plain ${load.isPending ? 'pending' : ''}`}>
          <Icon name="download" />
          {t.download}
        </Button>
        <Popover className="popover" placement="bottom end">
          <Menu className="menu" onAction={key => load.isPending || load.mutate(key as FileFormat)}>
            {FORMATS.map(format => (
              <MenuItem key={format} id={format} className="menu-item">
                {t.formats[format]}
              </MenuItem>
            ))}
          </Menu>
        </Popover>
      </MenuTrigger>
      {load.error && <Trouble error={load.error} isDeed />}
    </>
  )
}

const KIND_OF = { device: 'devices', user: 'users', vehicle: 'vehicles' } as const
/** Characters that file systems refuse. */
const REFUSED = /[\\/:*?"<>|\p{Cc}]+/gu
/** A file's name has at most 255 bytes. */
const NAME_MAX = 60

/** The names of the subjects, for a file. */
async function nameOf(subjects: readonly Subject[]): Promise<string> {
  const names = await Promise.all(subjects.map(({ type, id }) => readName(KIND_OF[type], id)))
  const known = names.filter(name => name !== null).map(name => name.replace(REFUSED, ' ').trim())
  return [...known.join(', ')].slice(0, NAME_MAX).join('').trim() || 'fieldline'
}
