-- The limits of an organization: each table with an organization_id is declared here once, with a cap or with the
-- reason why it needs none, and one trigger enforces the caps. An operator may raise them: UPDATE row_caps SET max = ….

CREATE TABLE row_caps (
  table_name text NOT NULL,
  -- The measure of an organization's rows: their number, or a sum over them.
  measure text NOT NULL DEFAULT 'count(*)',
  max bigint,
  -- In a sentence: "An organization has at most 200 data types."
  unit text,
  -- The bound of a table without a cap.
  bounded_by text,
  PRIMARY KEY (table_name, measure),
  CHECK ((max IS NULL) = (unit IS NULL) AND (max IS NULL) <> (bounded_by IS NULL))
);

-- Rows that are committed at the same moment may exceed a cap by their number. A cap over 10,000 is checked, on
-- average, once for each hundredth of it that is inserted, since counting visits every row: 1,000,000 take 0.1 s.
CREATE FUNCTION check_row_caps() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  cap row_caps;
  organization record;
  found bigint;
BEGIN
  FOR organization IN SELECT organization_id AS id, count(*) AS rows FROM changed_rows GROUP BY 1 LOOP
    FOR cap IN SELECT * FROM row_caps WHERE table_name = TG_TABLE_NAME AND max IS NOT NULL LOOP
      CONTINUE WHEN TG_OP = 'UPDATE' AND cap.measure = 'count(*)';
      CONTINUE WHEN cap.max > 10000 AND cap.measure = 'count(*)'
        AND random() * cap.max / 100 >= organization.rows;
      EXECUTE format('SELECT %s FROM (SELECT * FROM %I WHERE organization_id = $1 LIMIT $2) r', cap.measure, TG_TABLE_NAME)
        INTO found USING organization.id, CASE cap.measure WHEN 'count(*)' THEN cap.max + 1 END;
      IF found > cap.max THEN
        RAISE EXCEPTION 'An organization has at most % %.', cap.max, cap.unit USING ERRCODE = 'FLCAP';
      END IF;
    END LOOP;
  END LOOP;
  RETURN NULL;
END $$;

-- Declares the cap of a table with an organization_id.
CREATE FUNCTION cap_rows(name text, max bigint, unit text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO row_caps (table_name, max, unit) VALUES (name, max, unit);
  EXECUTE format('CREATE TRIGGER row_caps AFTER INSERT ON %I REFERENCING NEW TABLE AS changed_rows
    FOR EACH STATEMENT EXECUTE FUNCTION check_row_caps()', name);
END $$;

-- The same for a sum over its rows, which an update may raise as well.
CREATE FUNCTION cap_sum(name text, measure text, max bigint, unit text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO row_caps (table_name, measure, max, unit) VALUES (name, measure, max, unit);
  EXECUTE format('CREATE TRIGGER row_caps_of_changes AFTER UPDATE ON %I REFERENCING NEW TABLE AS changed_rows
    FOR EACH STATEMENT EXECUTE FUNCTION check_row_caps()', name);
END $$;

-- Indexes for counting an organization's rows.
CREATE INDEX user_hubs_organization ON user_hubs (organization_id);
CREATE INDEX invitations_organization ON invitations (organization_id);
CREATE INDEX team_users_organization ON team_users (organization_id);
CREATE INDEX mounts_organization ON mounts (organization_id);

SELECT
  -- People and their permissions.
  cap_rows('users', 10000, 'users'),
  cap_rows('invitations', 1000, 'invitations that are open'),
  cap_rows('roles', 200, 'roles'),
  cap_sum('roles', 'sum(octet_length(permission_details::text))', 1048576, 'bytes of permissions in all roles together'),
  cap_rows('hubs', 1000, 'hubs'),
  cap_rows('user_hubs', 100000, 'hubs of users'),
  cap_rows('teams', 2000, 'teams'),
  cap_rows('team_users', 50000, 'members of teams'),
  -- Subjects. A subject outlives its device, since its history does.
  cap_rows('subjects', 1000000, 'users and devices, deleted ones among them'),
  cap_rows('devices', 100000, 'devices, deleted ones among them'),
  cap_rows('vehicles', 50000, 'vehicles'),
  cap_rows('mounts', 1000000, 'mounts of devices, former ones among them'),
  cap_rows('tracking_links', 10000, 'tracking links'),
  cap_rows('geofences', 10000, 'geofences, lately deleted ones among them'),
  -- Data.
  cap_rows('data_types', 200, 'data types'),
  cap_sum('data_types', 'sum(jsonb_array_length(fields))', 5000, 'fields in all data types together'),
  cap_rows('data_records', 2000000, 'data sources'),
  cap_rows('flows', 500, 'flows'),
  cap_sum('flows', 'sum(octet_length(steps::text))', 8388608, 'bytes of steps in all flows together'),
  cap_rows('import_configs', 500, 'import configs'),
  cap_rows('webhooks', 1000, 'webhooks'),
  -- Work.
  cap_rows('schedules', 10000, 'task schedules'),
  cap_rows('tasks', 2000000, 'tasks');

-- By root (db/roots.ts), checked when an organization is created.
INSERT INTO row_caps (table_name, max, unit) VALUES ('organizations', 100, 'organizations');

INSERT INTO row_caps (table_name, bounded_by) VALUES
  ('data_keys', 'one for each unique field of a data source'),
  ('data_type_changes', 'one for each data type whose rules are being changed'),
  ('data_type_touched', 'records that are written while the rules of their data type are changed'),
  ('task_counters', 'one row'),
  ('geofence_versions', 'one row'),
  ('rejections', 'each is a point that was sent, and is kept for 30 days'),
  ('rejection_counts', 'one for each subject and reason'),
  ('audit_log', 'each entry is a change by a user, whose requests are limited; it is kept for a year'),
  ('jobs', 'one for each import, export or webhook; gone a week after its end'),
  ('idempotency_keys', 'kept for a day'),
  ('imports', '20 wait or work, and each is kept for 30 days'),
  ('import_failures', 'rows of imports, with 32 Mi characters of each'),
  ('export_logs', '20 wait or work, and each is kept for 30 days'),
  ('webhook_events', 'kept until each webhook has taken it, or for 30 days'),
  ('webhook_deliveries', '10,000 wait for a webhook; each is kept for 30 days'),
  ('geofence_events', 'follow from points; kept as long as those'),
  ('geofence_spans', 'gone when they are judged');
