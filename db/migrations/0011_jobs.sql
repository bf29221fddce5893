-- Background work. A job is a row: taken with FOR UPDATE SKIP LOCKED, held by a lease that a heartbeat extends, and
-- taken again by another process when the heartbeat stops (src/jobs/runner.ts).

CREATE TABLE jobs (
  id uuid PRIMARY KEY,
  kind text NOT NULL,
  -- Null for jobs of no organization, such as the maintenance.
  organization_id uuid REFERENCES organizations ON DELETE CASCADE,
  -- Organizations take turns; jobs of no organization have a queue of their own.
  queue uuid NOT NULL GENERATED ALWAYS AS (coalesce(organization_id, '00000000-0000-0000-0000-000000000000')) STORED,
  payload jsonb NOT NULL DEFAULT '{}',
  -- At most one job of a kind with the same key waits or runs.
  unique_key text,
  status text NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'running', 'done', 'failed', 'cancelled')),
  run_at timestamptz NOT NULL DEFAULT now(),
  attempts integer NOT NULL DEFAULT 0,
  -- Counts up with every claim, and so identifies the holder: a former holder can change nothing any more.
  lease integer NOT NULL DEFAULT 0,
  lease_until timestamptz,
  cancel_requested boolean NOT NULL DEFAULT false,
  progress jsonb,
  result jsonb,
  error text,
  created_at timestamptz NOT NULL DEFAULT now(),
  started_at timestamptz,
  finished_at timestamptz
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX jobs_unique ON jobs (kind, unique_key) WHERE status IN ('queued', 'running');
CREATE INDEX jobs_queued ON jobs (kind, queue, run_at, id) WHERE status = 'queued';
CREATE INDEX jobs_due ON jobs (kind, run_at) WHERE status = 'queued';
CREATE INDEX jobs_running ON jobs (kind, lease_until) WHERE status = 'running';
CREATE INDEX jobs_finished ON jobs (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX jobs_organization ON jobs (organization_id);

-- A job is created, advanced and ended in the transaction of its record or work, so the tenant role may do that.
ALTER TABLE jobs ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON jobs TO fieldline_tenant
  USING (organization_id = (SELECT current_organization()))
  WITH CHECK (organization_id = (SELECT current_organization()));
GRANT SELECT, INSERT, UPDATE ON jobs TO fieldline_tenant;

-- Sample data is marked, so that it can be deleted.
ALTER TABLE vehicles ADD COLUMN hub_id uuid, ADD COLUMN is_sample boolean NOT NULL DEFAULT false;
ALTER TABLE vehicles ADD FOREIGN KEY (organization_id, hub_id) REFERENCES hubs (organization_id, id);
CREATE INDEX vehicles_hub ON vehicles (hub_id);
