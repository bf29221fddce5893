-- A change of a data type's rules checks the type's records in steps (src/resources/data-types/evolve.ts), while
-- records are written. A row here marks such a change, and the triggers below note the records written since.
CREATE TABLE data_type_changes (
  organization_id uuid NOT NULL,
  data_type_id uuid NOT NULL,
  id uuid NOT NULL,
  -- The fields whose rules change.
  keys text[] NOT NULL,
  -- The time of the last step: a process may end between two steps.
  stepped_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (organization_id, data_type_id),
  FOREIGN KEY (organization_id, data_type_id) REFERENCES data_types (organization_id, id) ON DELETE CASCADE
);

CREATE TABLE data_type_touched (
  organization_id uuid NOT NULL,
  data_type_id uuid NOT NULL,
  record_id uuid NOT NULL,
  -- The record's values in those fields before it was first written; empty if it is new.
  before jsonb NOT NULL,
  PRIMARY KEY (organization_id, data_type_id, record_id),
  -- No reference to the change, which may end while somebody writes.
  FOREIGN KEY (organization_id, data_type_id) REFERENCES data_types (organization_id, id) ON DELETE CASCADE
);

CREATE FUNCTION touch_new_records() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM data_type_changes) THEN
    INSERT INTO data_type_touched
    SELECT n.organization_id, n.data_type_id, n.id, '{}'
    FROM new_rows n JOIN data_type_changes c USING (organization_id, data_type_id) ORDER BY n.id
    ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION touch_old_records() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM data_type_changes) THEN
    INSERT INTO data_type_touched
    SELECT o.organization_id, o.data_type_id, o.id,
      coalesce((SELECT jsonb_object_agg(key, value) FROM jsonb_each(o.data) WHERE key = ANY(c.keys)), '{}')
    FROM old_rows o JOIN data_type_changes c USING (organization_id, data_type_id) ORDER BY o.id
    ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER touch_inserted AFTER INSERT ON data_records REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION touch_new_records();
CREATE TRIGGER touch_updated AFTER UPDATE ON data_records REFERENCING OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION touch_old_records();
CREATE TRIGGER touch_deleted AFTER DELETE ON data_records REFERENCING OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION touch_old_records();
