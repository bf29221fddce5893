-- How the messages of trackers with a format of their own are read.

CREATE TABLE tracker_profiles (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  name text NOT NULL,
  -- { topic, each, when, device, fields, attributes } (db/schema/tracker-profiles.ts).
  choices jsonb NOT NULL,
  sample_messages jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, id)
);
ALTER TABLE tracker_profiles ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON tracker_profiles TO fieldline_tenant
  USING (organization_id = (SELECT current_organization()))
  WITH CHECK (organization_id = (SELECT current_organization()));
GRANT SELECT, INSERT, UPDATE, DELETE ON tracker_profiles TO fieldline_tenant;
SELECT cap_rows('tracker_profiles', 200, 'tracker profiles');
