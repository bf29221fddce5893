-- A crossing is told once the subject has stayed on the new side for so long, and was so far from the border.
ALTER TABLE geofences
  ADD COLUMN dwell_seconds integer NOT NULL DEFAULT 0 CHECK (dwell_seconds BETWEEN 0 AND 3600),
  ADD COLUMN margin_meters double precision NOT NULL DEFAULT 0 CHECK (margin_meters BETWEEN 0 AND 500);

-- Subjects whose newest fixes begin a stay that is too short so far: judged again once a fix of `due_at` or later is stored.
CREATE TABLE geofence_waits (
  subject_key integer PRIMARY KEY REFERENCES subjects (key) ON DELETE CASCADE,
  organization_id uuid NOT NULL,
  due_at timestamptz NOT NULL
);
CREATE INDEX geofence_waits_organization ON geofence_waits (organization_id);

INSERT INTO row_caps (table_name, bounded_by) VALUES ('geofence_waits', 'one for each subject');
