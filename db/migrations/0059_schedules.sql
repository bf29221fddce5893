-- Schedules create tasks repeatedly. A schedule has the fields of its tasks, their timing, and its progress.

CREATE TABLE schedules (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  name text NOT NULL,
  -- The fields of its tasks. A deleted data record is reported when a task is to be created (last_error).
  flow_id uuid NOT NULL,
  data_ids uuid[] NOT NULL DEFAULT '{}',
  -- The type of each data record: restrictions of a type apply to the content too.
  data_type_ids uuid[] NOT NULL DEFAULT '{}',
  hub_id uuid,
  team_id uuid,
  assignee_id uuid,
  vehicle_id uuid,
  location jsonb,
  duration integer,
  content jsonb NOT NULL DEFAULT '{}',
  -- The timing.
  repeat jsonb NOT NULL,
  start_time timestamptz NOT NULL,
  end_time timestamptz,
  timezone text NOT NULL,
  exceptions text[] NOT NULL DEFAULT '{}',
  -- The next occurrence, whose task is not created yet; null if there is none any more. Advances in the transaction
  -- that creates the task.
  next_run_at timestamptz,
  last_run_at timestamptz,
  -- The number of occurrences that create no task: of missed ones, only the last 1,000 create theirs.
  skipped integer NOT NULL DEFAULT 0,
  failures integer NOT NULL DEFAULT 0,
  retry_at timestamptz,
  last_error text,
  is_sample boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, id),
  FOREIGN KEY (organization_id, flow_id) REFERENCES flows (organization_id, id),
  FOREIGN KEY (organization_id, hub_id) REFERENCES hubs (organization_id, id),
  FOREIGN KEY (organization_id, team_id) REFERENCES teams (organization_id, id) ON DELETE SET NULL (team_id),
  FOREIGN KEY (organization_id, assignee_id) REFERENCES users (organization_id, id) ON DELETE SET NULL (assignee_id),
  FOREIGN KEY (organization_id, vehicle_id) REFERENCES vehicles (organization_id, id) ON DELETE SET NULL (vehicle_id)
);
CREATE INDEX schedules_organization ON schedules (organization_id, created_at, id);
-- For finding the next organization, and its due schedules.
CREATE INDEX schedules_due ON schedules (greatest(next_run_at, retry_at)) WHERE next_run_at IS NOT NULL;
CREATE INDEX schedules_due_of ON schedules (organization_id, greatest(next_run_at, retry_at))
  WHERE next_run_at IS NOT NULL;
CREATE INDEX schedules_flow ON schedules (flow_id);
CREATE INDEX schedules_hub ON schedules (hub_id);
CREATE INDEX schedules_team ON schedules (team_id);
CREATE INDEX schedules_assignee ON schedules (assignee_id);
CREATE INDEX schedules_vehicle ON schedules (vehicle_id);

ALTER TABLE schedules ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON schedules TO fieldline_tenant
  USING (organization_id = (SELECT current_organization()))
  WITH CHECK (organization_id = (SELECT current_organization()));
GRANT SELECT, INSERT, UPDATE, DELETE ON schedules TO fieldline_tenant;

-- The occurrence for which a task was created, only once in any case; its start may be changed.
ALTER TABLE tasks ADD COLUMN scheduled_for timestamptz;
CREATE UNIQUE INDEX tasks_occurrence ON tasks (organization_id, schedule_id, scheduled_for) WHERE scheduled_for IS NOT NULL;
ALTER TABLE tasks ADD FOREIGN KEY (organization_id, schedule_id) REFERENCES schedules (organization_id, id)
  ON DELETE SET NULL (schedule_id);
