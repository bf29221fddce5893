-- Exports with their authors and results; kept for 30 days. A file is under DATA_DIR, named by the identifier. It is
-- deleted when its row is deleted or no longer has the size of a file (src/resources/exports/files.ts).

CREATE TABLE export_logs (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  user_id uuid,
  resource text NOT NULL CHECK (resource IN ('data', 'tasks')),
  data_type_id uuid,
  format text NOT NULL CHECK (format IN ('xlsx', 'json')),
  filter jsonb NOT NULL DEFAULT '{}',
  -- The requested fields; null means all visible ones.
  fields text[],
  -- The fields whose values the file holds: only users who may see all of them see the file.
  keys text[] NOT NULL DEFAULT '{}',
  -- Whether the file was the answer itself.
  is_direct boolean NOT NULL,
  status text NOT NULL CHECK (status IN ('queued', 'processing', 'completed', 'failed')),
  -- The number of records, if it is known before the end.
  total bigint,
  processed bigint NOT NULL DEFAULT 0,
  progress float8 NOT NULL DEFAULT 0,
  error text,
  file_name text NOT NULL,
  -- Null if no file is kept.
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
