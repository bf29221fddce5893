-- Commands to devices. This table is the whole truth about them: a process hands a command over only after it has written here
-- that it does, so that no other process, and no later one, hands it over as a new one.

-- The order in which the commands of a device were made: each takes its number under the lock of the device's row.
CREATE SEQUENCE command_numbers;

CREATE TABLE commands (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  device_id uuid NOT NULL,
  number bigint NOT NULL DEFAULT nextval('command_numbers'),
  name text NOT NULL,
  -- JSON as text: jsonb has no NUL, and json a lesser depth.
  payload text NOT NULL CHECK (octet_length(payload) <= 50000),
  state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'sent', 'received', 'done', 'failed', 'expired')),
  -- JSON as text; null until the device answers.
  result text CHECK (octet_length(result) <= 50000),
  expires_at timestamptz NOT NULL,
  sent_at timestamptz,
  received_at timestamptz,
  finished_at timestamptz,
  -- The connection that it was written to last, and when.
  carrier uuid,
  carried_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((finished_at IS NOT NULL) = (state IN ('done', 'failed', 'expired'))),
  CHECK (state = 'queued' OR state = 'expired' OR sent_at IS NOT NULL),
  FOREIGN KEY (organization_id, device_id) REFERENCES devices (organization_id, id)
);
CREATE INDEX commands_newest ON commands (device_id, created_at, id);
CREATE INDEX commands_organization ON commands (organization_id);
-- Those that are still to be handed over or acknowledged.
CREATE INDEX commands_open ON commands (device_id, number) WHERE state IN ('queued', 'sent');
CREATE INDEX commands_queued ON commands (organization_id, device_id) WHERE state = 'queued';
CREATE INDEX commands_expiring ON commands (expires_at) WHERE state IN ('queued', 'sent', 'received');
CREATE INDEX commands_age ON commands (finished_at) WHERE finished_at IS NOT NULL;

ALTER TABLE commands ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON commands TO fieldline_tenant
  USING (organization_id = (SELECT current_organization()))
  WITH CHECK (organization_id = (SELECT current_organization()));
GRANT SELECT, INSERT, UPDATE, DELETE ON commands TO fieldline_tenant;
GRANT USAGE ON SEQUENCE command_numbers TO fieldline_tenant;

SELECT cap_rows('commands', 1000000, 'commands, those that ended within 30 days among them');

-- Commands join the catalogue: the default roles that change devices may send them commands.
UPDATE roles SET updated_at = now(), permission_details = permission_details || '[
    {"permissionName": "view/command", "scope": "all"}, {"permissionName": "create/command", "scope": "all"}]'::jsonb
  WHERE is_default AND name IN ('Owner', 'Admin', 'Planner')
    AND NOT permission_details @> '[{"permissionName": "view/command"}]';
