-- Tasks. A task's history is in its row: every change of a task locks the row, so that simultaneous changes end in one
-- history.

CREATE TABLE tasks (
  -- Version 7, so the order of identifiers is the order of creation.
  id uuid NOT NULL,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  -- The name for people: `T-17`.
  code text NOT NULL,
  name text NOT NULL,
  -- The status of the history's last entry.
  status text NOT NULL,
  flow_id uuid NOT NULL,
  -- Data records, and the type of each: restrictions of a type apply even after the record is deleted.
  data_ids uuid[] NOT NULL DEFAULT '{}',
  data_type_ids uuid[] NOT NULL DEFAULT '{}',
  hub_id uuid,
  team_id uuid,
  assignee_id uuid,
  vehicle_id uuid,
  schedule_id uuid,
  position geometry(Point, 4326),
  address text,
  start_time timestamptz,
  end_time timestamptz CHECK (end_time >= start_time),
  content jsonb NOT NULL DEFAULT '{}',
  -- [{ status, at, by, lat, lng, note, fields }] in the order of `at`.
  history jsonb NOT NULL,
  search text NOT NULL GENERATED ALWAYS AS (code || E'\n' || name || E'\n' || coalesce(address, '')) STORED,
  is_sample boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (organization_id, id),
  UNIQUE (organization_id, code),
  FOREIGN KEY (organization_id, flow_id) REFERENCES flows (organization_id, id),
  FOREIGN KEY (organization_id, hub_id) REFERENCES hubs (organization_id, id),
  FOREIGN KEY (organization_id, team_id) REFERENCES teams (organization_id, id) ON DELETE SET NULL (team_id),
  FOREIGN KEY (organization_id, assignee_id) REFERENCES users (organization_id, id) ON DELETE SET NULL (assignee_id),
  FOREIGN KEY (organization_id, vehicle_id) REFERENCES vehicles (organization_id, id) ON DELETE SET NULL (vehicle_id)
);

-- Each filter of the list in the order of the list, newest first; `npm run bench -- tasks` reads them with a million
-- tasks.
CREATE INDEX tasks_status ON tasks (organization_id, status, id);
CREATE INDEX tasks_flow ON tasks (organization_id, flow_id, id);
CREATE INDEX tasks_hub ON tasks (organization_id, hub_id, id);
CREATE INDEX tasks_team ON tasks (organization_id, team_id, id);
CREATE INDEX tasks_assignee ON tasks (organization_id, assignee_id, id) WHERE assignee_id IS NOT NULL;
CREATE INDEX tasks_vehicle ON tasks (organization_id, vehicle_id, id) WHERE vehicle_id IS NOT NULL;
CREATE INDEX tasks_schedule ON tasks (organization_id, schedule_id, id) WHERE schedule_id IS NOT NULL;
CREATE INDEX tasks_start ON tasks (organization_id, coalesce(start_time, 'infinity'), id);
CREATE INDEX tasks_name ON tasks (organization_id, lower(name), id);
CREATE INDEX tasks_position ON tasks USING gist (position) WHERE position IS NOT NULL;
CREATE INDEX tasks_search ON tasks USING gin (search gin_trgm_ops);
CREATE INDEX tasks_sample ON tasks (organization_id) WHERE is_sample;

-- The number of the last code that was taken.
CREATE TABLE task_counters (
  organization_id uuid PRIMARY KEY REFERENCES organizations ON DELETE CASCADE,
  last bigint NOT NULL
) WITH (fillfactor = 10);

-- Lists read with the owner's rights, the organization first: behind a policy, boxes and trigrams cannot use their
-- indexes.
DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['tasks', 'task_counters'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY tenant ON %I TO fieldline_tenant
      USING (organization_id = (SELECT current_organization()))
      WITH CHECK (organization_id = (SELECT current_organization()))', name);
  END LOOP;
END $$;
GRANT SELECT, INSERT, UPDATE, DELETE ON tasks TO fieldline_tenant;
GRANT SELECT, INSERT, UPDATE ON task_counters TO fieldline_tenant;

-- Notifies watchers of every change of a task, by whichever statement: its identifier, and the hub, team and assignee
-- through which it was seen before.
CREATE FUNCTION tell_task() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  row tasks := coalesce(NEW, OLD);
BEGIN
  -- Nobody watches rows that are deleted with their organization.
  IF TG_OP <> 'INSERT' AND EXISTS (SELECT FROM organizations WHERE id = row.organization_id AND deleted_at IS NOT NULL) THEN
    RETURN NULL;
  END IF;
  PERFORM pg_notify('fieldline', json_strip_nulls(json_build_object('kind', 'record', 'topic', 'tasks',
    'organizationId', row.organization_id, 'recordId', row.id, 'before',
    CASE WHEN TG_OP <> 'INSERT' THEN concat(OLD.hub_id, ',', OLD.team_id, ',', OLD.assignee_id) END))::text);
  RETURN NULL;
END $$;
CREATE TRIGGER tell_task AFTER INSERT OR UPDATE OR DELETE ON tasks FOR EACH ROW EXECUTE FUNCTION tell_task();
