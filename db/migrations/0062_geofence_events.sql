-- Crossings of geofences, one per row. A crossing that no longer holds stays, marked as retracted.
CREATE TABLE geofence_events (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  geofence_id uuid NOT NULL,
  subject_id uuid NOT NULL,
  -- The time and place of the first fix inside or outside.
  at timestamptz NOT NULL,
  lat double precision NOT NULL,
  lng double precision NOT NULL,
  event text NOT NULL CHECK (event IN ('entered', 'left')),
  retracted boolean NOT NULL DEFAULT false,
  -- The shape of the geofence by which it was judged (geofences.shaped_at).
  shaped_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  FOREIGN KEY (organization_id, geofence_id) REFERENCES geofences (organization_id, id),
  FOREIGN KEY (organization_id, subject_id) REFERENCES subjects (organization_id, id)
);
CREATE UNIQUE INDEX geofence_events_crossing ON geofence_events (subject_id, at, geofence_id);
CREATE INDEX geofence_events_organization ON geofence_events (organization_id, at, id);
CREATE INDEX geofence_events_geofence ON geofence_events (geofence_id, at, id);
CREATE INDEX geofence_events_at ON geofence_events (at);
CREATE INDEX geofences_deleted ON geofences (id) WHERE deleted_at IS NOT NULL;

-- Time spans of a subject in which stored points may change its crossings: written in the transaction that stores them,
-- and deleted in the one that has judged them.
CREATE TABLE geofence_spans (
  id bigint GENERATED ALWAYS AS IDENTITY,
  organization_id uuid NOT NULL,
  changed_from timestamptz NOT NULL,
  changed_to timestamptz NOT NULL,
  subject_key integer NOT NULL,
  PRIMARY KEY (organization_id, id)
);

ALTER TABLE geofence_events ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON geofence_events TO fieldline_tenant
  USING (organization_id = (SELECT current_organization()))
  WITH CHECK (organization_id = (SELECT current_organization()));
GRANT SELECT ON geofence_events TO fieldline_tenant;

-- Crossings have no data type.
ALTER TABLE webhook_deliveries ALTER COLUMN data_type_id DROP NOT NULL;
