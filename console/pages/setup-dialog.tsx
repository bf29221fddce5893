import '../styles/setup.css'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { useNavigate } from 'react-router'
import { renderSVG } from 'uqr'
import { answered, api } from '../api/client.ts'
import { useWorkspace } from '../api/workspace.ts'
import { useFleetVersion, useLive } from '../live/live.tsx'
import type { Position } from '../live/packed.ts'
import { Modal } from '../parts/modal.tsx'
import { ActionButton, Choose, Copyable, Trouble } from '../parts/parts.tsx'
import { Question } from '../parts/question.tsx'
import { setupTexts as de } from '../texts/de/setup.ts'
import { setupTexts as en } from '../texts/en/setup.ts'
import { useFormat, useOwnTexts, useTexts } from '../texts/texts.tsx'
import { urls } from '../urls.ts'

const TEXTS = { en, de }

const KEY = 'DEVICE_KEY'
/** Clients that run on other machines than phones, maybe on this one. */
const ANYWHERE = ['MQTT', 'Home Assistant']
const LOOPBACK = /^((.+\.)?localhost|127(\.\d+){3}|\[::1\])$/
/** A position that was sent before, and is still on its way to this page, is not the first one of this setup. */
const ON_ITS_WAY_MS = 2_000

interface Props {
  device: { _id: string; name: string }
  /** Known only right after the device or its key was created. */
  deviceKey?: string
  onClose: () => void
}

/** The settings to enter in each app, until the first position arrives. */
export default function SetupDialog({ device, deviceKey: known, onClose }: Props) {
  const texts = useTexts()
  const format = useFormat()
  const navigate = useNavigate()
  const { may } = useWorkspace()
  const [app, setApp] = useState('')
  const [rotated, setRotated] = useState<string>()
  const deviceKey = rotated ?? known
  const t = useOwnTexts(TEXTS)
  const setup = useQuery({
    queryKey: ['setup', device._id],
    queryFn: async () =>
      (await answered(api.GET('/api/v3/device/{id}/setup', { params: { path: { id: device._id } } }))).data,
  })
  const fill = (value: string) => (deviceKey ? value.replaceAll(KEY, deviceKey) : value)
  const chosen = setup.data?.find(one => one.app === app) ?? setup.data?.[0]
  const isOutOfReach = chosen && LOOPBACK.test(location.hostname) && !ANYWHERE.includes(chosen.app)
  const arrived = useArrival(device._id)
  const isKept = Boolean(deviceKey) && !arrived
  return (
    <Modal title={t.title(device.name)} onClose={onClose} isKept={isKept} hasDone wide>
      <div className="stack">
        <p className={deviceKey ? 'note' : 'hint'}>{deviceKey ? t.key : t.noKey}</p>
        {!deviceKey && may('update/device') && <NewKey device={device} onKey={setRotated} />}
        {setup.error && <Trouble error={setup.error} onRetry={() => void setup.refetch()} />}
        {chosen && (
          <>
            <Choose
              label={t.app}
              value={chosen.app}
              onChange={setApp}
              choices={(setup.data ?? []).map(one => ({ id: one.app, name: one.app }))}
            />
            {isOutOfReach && <p className="note">{t.outOfReach(location.hostname)}</p>}
            <div className="setup">
              <dl className="facts wide" aria-label={t.enter(chosen.app)}>
                {chosen.steps.map(step => (
                  <div key={step.label}>
                    <dt>{step.label}</dt>
                    <dd>
                      {step.value === '' ? (
                        <span className="hint">{t.empty}</span>
                      ) : (
                        <Copyable value={fill(step.value)} label={step.label} />
                      )}
                    </dd>
                  </div>
                ))}
              </dl>
              {chosen.url && !isOutOfReach && <Scan url={fill(chosen.url)} />}
            </div>
            {chosen.app === 'MQTT' && <Terminal steps={chosen.steps} fill={fill} />}
          </>
        )}
        <div className={arrived ? 'arrival good' : 'arrival'} role="status">
          <span className="dot" aria-hidden="true" />
          {arrived ? t.arrived(format.since(Date.parse(arrived.timestamp))) : t.waiting}
          {arrived && (
            <ActionButton
              looks="primary"
              onPress={() => {
                onClose()
                void navigate(urls.subject(device._id))
              }}
            >
              {texts.setup.show}
            </ActionButton>
          )}
        </div>
      </div>
    </Modal>
  )
}

/** Creates a new key, for a key that is lost. */
function NewKey({ device, onKey }: Pick<Props, 'device'> & { onKey: (key: string) => void }) {
  const { devices: t } = useTexts().kinds
  /** False after the question was answered with no. */
  const [isAsking, setAsking] = useState<boolean>()
  const params = { path: { id: device._id } }
  const rotate = useMutation({
    mutationFn: async () => (await answered(api.POST('/api/v3/device/{id}/rotate-key', { params }))).data.key,
    onSuccess: onKey,
  })
  if (!isAsking)
    return (
      <p>
        <ActionButton autoFocus={isAsking === false} onPress={() => setAsking(true)}>
          {t.newKey}
        </ActionButton>
      </p>
    )
  return (
    <>
      <Question
        ask={t.newKeyAsk(device.name)}
        yes={t.newKey}
        isPending={rotate.isPending}
        onYes={() => rotate.mutate()}
        onNo={() => setAsking(false)}
      />
      {rotate.error && <Trouble error={rotate.error} isDeed />}
    </>
  )
}

/** The first position that arrives after the dialog has opened. An older one says nothing about this setup. */
function useArrival(deviceId: string): Position | undefined {
  const { fleet, known } = useLive()
  useFleetVersion(fleet, 500)
  const [openedAt] = useState(() => performance.now())
  const before = useRef<string | null>(null)
  const isKnown = useRef(false)
  const first = useRef<Position>(undefined)
  const position = fleet.find(deviceId)
  if (!known) return undefined
  if (!isKnown.current || (before.current !== null && performance.now() - openedAt < ON_ITS_WAY_MS))
    before.current = position?.timestamp ?? null
  isKnown.current = true
  if (position && position.timestamp !== before.current) first.current ??= position
  return first.current
}

function Scan({ url }: { url: string }) {
  const t = useOwnTexts(TEXTS)
  return (
    <div className="scan">
      <div
        className="qr"
        role="img"
        aria-label={t.scan}
        // biome-ignore lint/security/noDangerouslySetInnerHtml: squares of our own making, whatever the address says
        dangerouslySetInnerHTML={{ __html: renderSVG(url) }}
      />
      <p className="hint">{t.scan}</p>
      <a className="button plain phone-only" href={url}>
        {t.open}
      </a>
    </div>
  )
}

/** The same settings as a command to paste, with the current time. */
function Terminal(props: { steps: { label: string; value: string }[]; fill: (value: string) => string }) {
  const t = useOwnTexts(TEXTS)
  const value = (label: string) => props.fill(props.steps.find(step => step.label === label)?.value ?? '')
  const payload = `{\\"lat\\":52.52,\\"lng\\":13.405,\\"timestamp\\":$(date +%s)}`
  const command = [
    `mosquitto_pub -h ${value('Host')} -p ${value('Port')}${value('TLS') === 'on' ? ' --tls-use-os-certs' : ''}`,
    `-u ${value('User name')} -P ${value('Password')} -q 1`,
    `-t ${value('Topic')} -m "${payload}"`,
  ].join(' ')
  return (
    <div>
      <h3>{t.command}</h3>
      <Copyable value={command} label={t.command} />
    </div>
  )
}
