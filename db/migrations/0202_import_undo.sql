-- What an import created and replaced, so that it can be undone: one row for each batch, until it is undone or the import
-- is 30 days old. A created record takes 16 bytes, a changed one the JSON of its former values.
CREATE TABLE import_steps (
  organization_id uuid NOT NULL,
  import_id uuid NOT NULL,
  -- The last row of the batch, as a spreadsheet numbers it.
  row integer NOT NULL,
  -- The time of its transaction: a record that it changed and nobody since has this updated_at.
  at timestamptz NOT NULL DEFAULT now(),
  created uuid[] NOT NULL,
  -- Each the JSON of { "_id", "data" }, with the values before.
  replaced text[] NOT NULL,
  PRIMARY KEY (organization_id, import_id, row),
  FOREIGN KEY (organization_id, import_id) REFERENCES imports (organization_id, id) ON DELETE CASCADE
);
ALTER TABLE import_steps ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON import_steps TO fieldline_tenant
  USING (organization_id = (SELECT current_organization()))
  WITH CHECK (organization_id = (SELECT current_organization()));
GRANT SELECT, INSERT, UPDATE, DELETE ON import_steps TO fieldline_tenant;
INSERT INTO row_caps (table_name, bounded_by)
VALUES ('import_steps', 'batches of imports, with 1 GiB of an organization');

ALTER TABLE imports
  -- The bytes of its steps.
  ADD step_bytes bigint NOT NULL DEFAULT 0,
  -- How far its undo is, as the interface shows it.
  ADD undo jsonb;
