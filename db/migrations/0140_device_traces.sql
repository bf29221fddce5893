-- What is remembered of a device beside its points: refused sign-ins, topics that it may not publish to, and the connection
-- that brought it last. One row for each kind, written at most once a minute.
CREATE TABLE device_traces (
  organization_id uuid NOT NULL,
  device_id uuid NOT NULL,
  kind text NOT NULL CHECK (octet_length(kind) <= 40),
  first_at timestamptz NOT NULL,
  last_at timestamptz NOT NULL,
  count bigint NOT NULL,
  -- From where it came, without a port.
  address text CHECK (octet_length(address) <= 100),
  detail text CHECK (octet_length(detail) <= 2000),
  PRIMARY KEY (organization_id, device_id, kind),
  FOREIGN KEY (organization_id, device_id) REFERENCES devices (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX device_traces_age ON device_traces (last_at);
ALTER TABLE device_traces ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON device_traces TO fieldline_tenant
  USING (organization_id = (SELECT current_organization()))
  WITH CHECK (organization_id = (SELECT current_organization()));
GRANT SELECT ON device_traces TO fieldline_tenant;
INSERT INTO row_caps (table_name, bounded_by) VALUES ('device_traces', 'one for each device and kind, for 30 days');

-- The key before the present one, so that a tracker that still has it can be told apart from one with a wrong key.
ALTER TABLE devices
  ADD COLUMN replaced_key_hash bytea,
  ADD COLUMN key_replaced_at timestamptz;
CREATE INDEX devices_replaced_key ON devices (replaced_key_hash) WHERE replaced_key_hash IS NOT NULL;
