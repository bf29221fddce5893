-- Imported files of data records: the mapping of their columns, and their results.

CREATE TABLE import_configs (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  name text NOT NULL,
  resource text NOT NULL DEFAULT 'data' CHECK (resource = 'data'),
  data_type_id uuid NOT NULL,
  -- The heading of the column by the key of the field.
  mapping jsonb NOT NULL,
  -- The fields of the type when the mapping was written, each { key, type, required }, so that later changes are
  -- noticed.
  written_for jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, name),
  FOREIGN KEY (organization_id, data_type_id) REFERENCES data_types (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX import_configs_type ON import_configs (organization_id, data_type_id);

-- The file of an import is DATA_DIR/imports/<id>. The progress of its job says how far it is read.
CREATE TABLE imports (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  user_id uuid NOT NULL,
  status text NOT NULL DEFAULT 'queued'
    CHECK (status IN ('queued', 'processing', 'completed', 'completed_with_errors', 'failed', 'cancelled')),
  file_name text NOT NULL,
  format text NOT NULL CHECK (format IN ('csv', 'json', 'xlsx')),
  -- The record outlives the type.
  data_type_id uuid NOT NULL,
  data_type_name text NOT NULL,
  mode text NOT NULL CHECK (mode IN ('create', 'upsert')),
  dry_run boolean NOT NULL,
  mapping jsonb NOT NULL,
  -- Known when all of the file is read.
  total integer,
  processed integer NOT NULL DEFAULT 0,
  created integer NOT NULL DEFAULT 0,
  updated integer NOT NULL DEFAULT 0,
  unchanged integer NOT NULL DEFAULT 0,
  failed integer NOT NULL DEFAULT 0,
  progress real NOT NULL DEFAULT 0,
  error text,
  -- The first ones; all of them are in import_failures.
  failures jsonb NOT NULL DEFAULT '[]',
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  started_at timestamptz,
  finished_at timestamptz,
  UNIQUE (organization_id, id)
) WITH (fillfactor = 70);
CREATE INDEX imports_created ON imports (created_at);

CREATE TABLE import_failures (
  organization_id uuid NOT NULL,
  import_id uuid NOT NULL,
  -- As a spreadsheet numbers it.
  row integer NOT NULL,
  -- Each { field, value, message }.
  errors jsonb NOT NULL,
  PRIMARY KEY (organization_id, import_id, row),
  FOREIGN KEY (organization_id, import_id) REFERENCES imports (organization_id, id) ON DELETE CASCADE
);

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['import_configs', 'imports', 'import_failures'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY tenant ON %I TO fieldline_tenant
      USING (organization_id = (SELECT current_organization()))
      WITH CHECK (organization_id = (SELECT current_organization()))', name);
  END LOOP;
END $$;
GRANT SELECT, INSERT, UPDATE, DELETE ON import_configs TO fieldline_tenant;
GRANT SELECT, INSERT, UPDATE ON imports TO fieldline_tenant;
GRANT SELECT, INSERT ON import_failures TO fieldline_tenant;
