-- What was exported, by whom, and what became of it; kept for 30 days. A file lies under DATA_DIR, named by the
-- identifier, and goes when its row is gone or holds no size of a file any more (src/jobs/exports/files.ts).

CREATE TABLE export_logs (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  user_id uuid,
  resource text NOT NULL CHECK (resource IN ('data', 'tasks')),
  data_type_id uuid,
  format text NOT NULL CHECK (format IN ('xlsx', 'json')),
  filter jsonb NOT NULL DEFAULT '{}',
  -- As asked for; null is all that may be seen.
  fields text[],
  -- Of which fields the file holds values: whoever is shown the file may see all of them.
  keys text[] NOT NULL DEFAULT '{}',
  -- Whether the file was the answer itself.
  is_direct boolean NOT NULL,
  status text NOT NULL CHECK (status IN ('queued', 'processing', 'completed', 'failed')),
  -- How many there are, where that is known before the end.
  total bigint,
  processed bigint NOT NULL DEFAULT 0,
  progress float8 NOT NULL DEFAULT 0,
  error text,
  file_name text NOT NULL,
  -- Null where no file is kept.
  file_bytes bigint,
  started_at timestamptz,
  finished_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  FOREIGN KEY (organization_id, user_id) REFERENCES users (organization_id, id) ON DELETE SET NULL (user_id),
  FOREIGN KEY (organization_id, data_type_id) REFERENCES data_types (organization_id, id)
    ON DELETE SET NULL (data_type_id)
);
CREATE INDEX export_logs_organization ON export_logs (organization_id, created_at, id);
CREATE INDEX export_logs_created ON export_logs (created_at);
CREATE INDEX export_logs_user ON export_logs (organization_id, user_id);
CREATE INDEX export_logs_type ON export_logs (organization_id, data_type_id);

ALTER TABLE export_logs ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON export_logs TO fieldline_tenant
  USING (organization_id = (SELECT current_organization()))
  WITH CHECK (organization_id = (SELECT current_organization()));
GRANT SELECT, INSERT, UPDATE ON export_logs TO fieldline_tenant;
