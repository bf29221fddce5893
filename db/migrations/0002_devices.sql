-- Trackers, the vehicles that carry them, and their hubs.

CREATE TABLE hubs (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  name text NOT NULL,
  lat double precision NOT NULL CHECK (lat BETWEEN -90 AND 90),
  lng double precision NOT NULL CHECK (lng BETWEEN -180 AND 180),
  address text,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, id)
);

CREATE TABLE vehicles (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, id)
);

CREATE TABLE devices (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  name text NOT NULL,
  hub_id uuid,
  -- SHA-256 of 256 random bits: nothing to guess, so no slow hash is needed.
  key_hash bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  -- Deleting ends the credential; the history keeps its name, and the identifier is never used again.
  deleted_at timestamptz,
  FOREIGN KEY (organization_id, id) REFERENCES subjects (organization_id, id),
  FOREIGN KEY (organization_id, hub_id) REFERENCES hubs (organization_id, id),
  UNIQUE (organization_id, id)
);
CREATE UNIQUE INDEX devices_key ON devices (key_hash);
CREATE INDEX devices_hub ON devices (hub_id);

-- The times at which devices were mounted on vehicles: a vehicle's history consists of its devices' histories in these
-- intervals.
CREATE TABLE mounts (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  device_id uuid NOT NULL,
  vehicle_id uuid NOT NULL,
  mounted_at timestamptz NOT NULL DEFAULT now(),
  unmounted_at timestamptz,
  CHECK (unmounted_at >= mounted_at),
  FOREIGN KEY (organization_id, device_id) REFERENCES devices (organization_id, id),
  FOREIGN KEY (organization_id, vehicle_id) REFERENCES vehicles (organization_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX mounts_current_device ON mounts (device_id) WHERE unmounted_at IS NULL;
CREATE INDEX mounts_vehicle ON mounts (vehicle_id, mounted_at);
CREATE INDEX mounts_device ON mounts (device_id, mounted_at);
