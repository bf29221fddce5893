-- Data types define fields, data records hold values of them.

-- For searches; a trusted extension, so a role that may create objects in the database may create it.
CREATE EXTENSION IF NOT EXISTS pg_trgm;

CREATE TABLE data_types (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  name text NOT NULL,
  type text NOT NULL CHECK (type IN ('customer', 'product', 'employee', 'custom')),
  -- The key of the field whose value names a record.
  primary_key text,
  fields jsonb NOT NULL,
  is_sample boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, name),
  UNIQUE (organization_id, id)
);
ALTER TABLE data_types ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON data_types TO fieldline_tenant
  USING (organization_id = (SELECT current_organization()))
  WITH CHECK (organization_id = (SELECT current_organization()));
GRANT SELECT ON data_types TO fieldline_tenant;

-- Without row-level security and not granted to the tenant role: behind a policy, ->>, @> and trigrams cannot use their
-- indexes. Every query takes the organization first (db/queries/data.ts).
CREATE TABLE data_records (
  -- Version 7, so the order of identifiers is the order of creation.
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  data_type_id uuid NOT NULL,
  data jsonb NOT NULL,
  -- The text that a search looks into: the texts and numbers of data, one per line.
  search text NOT NULL,
  is_sample boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  FOREIGN KEY (organization_id, data_type_id) REFERENCES data_types (organization_id, id)
);
CREATE INDEX data_records_organization ON data_records (organization_id, id);
CREATE INDEX data_records_type ON data_records (data_type_id, id);
CREATE INDEX data_records_values ON data_records USING gin (data jsonb_path_ops);
CREATE INDEX data_records_search ON data_records USING gin (search gin_trgm_ops);

-- The values of unique fields, so that the database keeps them unique and a record is found by its primary key: one
-- table instead of an index for each field of each organization. Only db/queries/data.ts writes it, with the record.
CREATE TABLE data_keys (
  organization_id uuid NOT NULL,
  data_type_id uuid NOT NULL,
  field text NOT NULL,
  value text NOT NULL,
  record_id uuid NOT NULL,
  PRIMARY KEY (organization_id, data_type_id, field, value),
  FOREIGN KEY (organization_id, data_type_id) REFERENCES data_types (organization_id, id) ON DELETE CASCADE
);
