-- Areas whose crossings are reported.

CREATE TABLE geofences (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  name text NOT NULL,
  hub_id uuid,
  -- { type: circle, center: { lat, lng }, radius } in metres, or { type: polygon, coordinates: [[lng, lat], ..] }, closed.
  shape jsonb NOT NULL,
  vertices integer NOT NULL GENERATED ALWAYS AS (coalesce(jsonb_array_length(shape -> 'coordinates'), 1)) STORED,
  -- Fixes received earlier are not judged by it. To the millisecond, like the times of fixes.
  shaped_at timestamptz NOT NULL DEFAULT date_trunc('milliseconds', clock_timestamp()),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  -- Its events stay.
  deleted_at timestamptz,
  FOREIGN KEY (organization_id, hub_id) REFERENCES hubs (organization_id, id),
  UNIQUE (organization_id, id)
);
CREATE INDEX geofences_organization ON geofences (organization_id, lower(name), id) WHERE deleted_at IS NULL;
CREATE INDEX geofences_hub ON geofences (hub_id);

-- The number of the last change of an organization's geofences, by which a cache of their shapes is checked. Numbers
-- become visible in their order (db/locks.ts). The process that judges crossings of the organization locks the row.
CREATE TABLE geofence_versions (
  organization_id uuid PRIMARY KEY REFERENCES organizations ON DELETE CASCADE,
  version bigint NOT NULL
);
CREATE INDEX geofence_versions_version ON geofence_versions (version);
CREATE SEQUENCE geofence_changes;

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['geofences', 'geofence_versions'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY tenant ON %I TO fieldline_tenant
      USING (organization_id = (SELECT current_organization()))
      WITH CHECK (organization_id = (SELECT current_organization()))', name);
  END LOOP;
END $$;
GRANT SELECT, INSERT, UPDATE, DELETE ON geofences TO fieldline_tenant;
GRANT SELECT, INSERT, UPDATE ON geofence_versions TO fieldline_tenant;
GRANT USAGE ON SEQUENCE geofence_changes TO fieldline_tenant;
