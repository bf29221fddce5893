import type { Database } from '../db/client.ts'
import type { Scheduler } from '../fair/scheduler.ts'
import type { Log } from '../stream/log.ts'
import type { MailConfig } from './config/mail.ts'
import type { Config } from './config.ts'
import type { JobKind } from './jobs/kind.ts'
import { createMailSender } from './mail/sender.ts'
import { createSealedTokens } from './mail/tokens.ts'
import { commandJob } from './resources/commands/job.ts'
import { createBrokerSecrets, renewBrokerSecrets } from './resources/connections/secrets.ts'
import { createExportFiles } from './resources/exports/files.ts'
import { exportJob } from './resources/exports/job.ts'
import { forgottenPasswordJobs } from './resources/forgotten-passwords/job.ts'
import { healthJob } from './resources/health-history/job.ts'
import { createImportFiles } from './resources/imports/files.ts'
import { importJob } from './resources/imports/job.ts'
import { undoJob } from './resources/imports/undo.ts'
import { invitationMailJob } from './resources/invitations/mail.ts'
import { companyJob } from './resources/organizations/company/job.ts'
import { removalJobs } from './resources/organizations/removal.ts'
import { sampleDataJob } from './resources/organizations/sample-data.ts'
import { scheduleJob } from './resources/schedules/job.ts'
import { createFactorSecrets, renewFactorSecrets } from './resources/second-factor/secrets.ts'
import { webhookJobs } from './resources/webhooks/job.ts'
import { createWebhookSecrets, renewWebhookSecrets } from './resources/webhooks/secrets.ts'
import { upkeepJob } from './upkeep.ts'

/** The kinds of jobs. All background work is one of them. */
export function createJobKinds(
  db: Database,
  config: Pick<Config, 'webhookAllowPrivate' | 'jwtSecret' | 'dataDir' | 'mail' | 'oidc'>,
  {
    storedPoints,
    scheduler,
    openLog,
    onError,
  }: {
    /** The number of points that this process has stored. */
    storedPoints: () => number
    scheduler: Scheduler
    /** Null in a process that has no part in a log. */
    openLog: (() => Promise<Log>) | null
    onError: (error: unknown, doing: string) => void
  },
): JobKind[] {
  const secrets = createWebhookSecrets(config.jwtSecret)
  const webhooks = webhookJobs({ allowPrivate: config.webhookAllowPrivate, secrets })
  const exported = createExportFiles(config.dataDir)
  const imported = createImportFiles(config.dataDir)
  const exports = exportJob({ db, files: exported, storedPoints }) as JobKind
  return [
    upkeepJob(
      db,
      [exported, imported],
      [
        system => renewWebhookSecrets(system, secrets),
        system => renewBrokerSecrets(system, createBrokerSecrets(config.jwtSecret)),
        system => createSealedTokens(config.jwtSecret).renew(system),
        system => renewFactorSecrets(system, createFactorSecrets(config.jwtSecret)),
      ],
    ),
    scheduleJob(db, scheduler, onError),
    sampleDataJob,
    healthJob,
    commandJob,
    ...(openLog ? [companyJob({ openLog, files: imported })] : []),
    exports,
    importJob({ db, files: imported, storedPoints }),
    undoJob(storedPoints),
    ...removalJobs(db),
    ...webhooks,
    ...(config.mail ? mailJobs(config.mail, config) : []),
  ]
}

function mailJobs(config: MailConfig, { jwtSecret, oidc }: Pick<Config, 'jwtSecret' | 'oidc'>): JobKind[] {
  const options = { config, sender: createMailSender(config), tokens: createSealedTokens(jwtSecret) }
  const arePasswordsClosed = oidc?.only === true
  return [invitationMailJob(options), ...forgottenPasswordJobs({ ...options, arePasswordsClosed })]
}
