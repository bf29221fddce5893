-- Ways in for many trackers at once: requests, MQTT clients, or another broker that we subscribe to.

CREATE TABLE connections (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  name text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('http', 'mqtt', 'broker')),
  -- A built-in profile by its name, or one of the organization.
  built_in_profile text,
  own_profile uuid,
  hub_id uuid,
  create_devices boolean NOT NULL DEFAULT false,
  is_active boolean NOT NULL DEFAULT true,
  -- The header of a request that may hold the key.
  header_name text,
  -- SHA-256 of 256 random bits; of a broker nobody knows the key.
  key_hash bytea NOT NULL,
  -- Another broker's url, username, clientId, topics, caCertificate and clientCertificate.
  broker jsonb,
  -- Its password and clientKey, sealed.
  secrets text,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((kind = 'broker') = (broker IS NOT NULL)),
  CHECK ((built_in_profile IS NULL) <> (own_profile IS NULL)),
  FOREIGN KEY (organization_id, own_profile) REFERENCES tracker_profiles (organization_id, id),
  FOREIGN KEY (organization_id, hub_id) REFERENCES hubs (organization_id, id),
  UNIQUE (organization_id, id)
);
CREATE INDEX connections_hub ON connections (hub_id);
CREATE INDEX connections_profile ON connections (own_profile) WHERE own_profile IS NOT NULL;

-- What happens on a connection; apart from its settings, because it changes every second.
CREATE TABLE connection_states (
  connection_id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  -- Of a broker's connection. Those of the other kinds follow from the rest.
  state text NOT NULL DEFAULT 'connecting' CHECK (state IN ('connecting', 'connected', 'failed')),
  last_error text,
  last_message_at timestamptz,
  messages bigint NOT NULL DEFAULT 0,
  points bigint NOT NULL DEFAULT 0,
  skipped bigint NOT NULL DEFAULT 0,
  rejected bigint NOT NULL DEFAULT 0,
  unknown bigint NOT NULL DEFAULT 0,
  -- The process that is the client of the broker, and until when nobody else may be.
  held_by uuid,
  held_until timestamptz NOT NULL DEFAULT '-infinity',
  -- The topics that our session at the broker is subscribed to.
  subscribed text[] NOT NULL DEFAULT '{}',
  -- The devices that the connection has created since this hour began.
  hour timestamptz NOT NULL DEFAULT '-infinity',
  created_devices integer NOT NULL DEFAULT 0,
  FOREIGN KEY (organization_id, connection_id) REFERENCES connections (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX connection_states_organization ON connection_states (organization_id);

-- References that no device has: the newest 1,000 of a connection, for 30 days.
CREATE TABLE unknown_references (
  connection_id uuid NOT NULL,
  -- In lower case: references are compared without regard to case.
  folded text NOT NULL,
  organization_id uuid NOT NULL,
  reference text NOT NULL,
  messages bigint NOT NULL,
  last_message_at timestamptz NOT NULL,
  last_point jsonb,
  PRIMARY KEY (connection_id, folded),
  FOREIGN KEY (organization_id, connection_id) REFERENCES connections (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX unknown_references_newest ON unknown_references (connection_id, last_message_at);
CREATE INDEX unknown_references_organization ON unknown_references (organization_id, folded);
CREATE INDEX unknown_references_age ON unknown_references (last_message_at);

-- Their newest 100 points each, and those of adopted references on their way to the log.
CREATE TABLE unknown_points (
  connection_id uuid NOT NULL,
  folded text NOT NULL,
  recorded_at timestamptz NOT NULL,
  organization_id uuid NOT NULL,
  point jsonb NOT NULL,
  -- The device that has the reference by now: the point is appended to the log, and deleted when it is durable there.
  device_id uuid,
  PRIMARY KEY (connection_id, folded, recorded_at),
  FOREIGN KEY (organization_id, connection_id) REFERENCES connections (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX unknown_points_organization ON unknown_points (organization_id);
CREATE INDEX unknown_points_adopted ON unknown_points (device_id) WHERE device_id IS NOT NULL;

-- The last 50 messages of a connection.
CREATE TABLE connection_messages (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  connection_id uuid NOT NULL,
  received_at timestamptz NOT NULL,
  topic text,
  client_id text,
  query jsonb,
  payload text NOT NULL,
  is_cut boolean NOT NULL,
  outcome jsonb NOT NULL,
  FOREIGN KEY (organization_id, connection_id) REFERENCES connections (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX connection_messages_newest ON connection_messages (connection_id, received_at, id);
CREATE INDEX connection_messages_organization ON connection_messages (organization_id);

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['connections', 'connection_states', 'unknown_references', 'unknown_points', 'connection_messages'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY tenant ON %I TO fieldline_tenant
      USING (organization_id = (SELECT current_organization()))
      WITH CHECK (organization_id = (SELECT current_organization()))', name);
  END LOOP;
END $$;
GRANT SELECT, INSERT, UPDATE, DELETE
  ON connections, connection_states, unknown_references, unknown_points, connection_messages TO fieldline_tenant;

SELECT cap_rows('connections', 100, 'connections');
INSERT INTO row_caps (table_name, bounded_by) VALUES
  ('connection_states', 'one for each connection'),
  ('unknown_references', 'the newest 1,000 of a connection, for 30 days'),
  ('unknown_points', 'the newest 100 of an unknown reference'),
  ('connection_messages', 'the last 50 of a connection');

-- Connections join the catalogue: the default roles that hold every permission on records hold these too.
UPDATE roles SET updated_at = now(), permission_details = permission_details || '[
    {"permissionName": "view/connection", "scope": "all"}, {"permissionName": "create/connection", "scope": "all"},
    {"permissionName": "update/connection", "scope": "all"}, {"permissionName": "delete/connection", "scope": "all"}]'::jsonb
  WHERE is_default AND name IN ('Owner', 'Admin', 'Planner')
    AND NOT permission_details @> '[{"permissionName": "view/connection"}]';
