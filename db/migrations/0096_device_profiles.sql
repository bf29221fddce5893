-- The profile that reads a device's messages: a built-in one by its name, or one of the organization.
ALTER TABLE devices
  ADD COLUMN built_in_profile text,
  ADD COLUMN profile_id uuid,
  ADD CHECK (built_in_profile IS NULL OR profile_id IS NULL),
  ADD FOREIGN KEY (organization_id, profile_id) REFERENCES tracker_profiles (organization_id, id);
CREATE INDEX devices_profile ON devices (profile_id) WHERE profile_id IS NOT NULL;

-- What others call a device: an IMEI, a DevEUI, an identifier of another system.
CREATE TABLE device_references (
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  -- In lower case, as JavaScript folds it (db/queries/device-references.ts).
  folded text NOT NULL,
  reference text NOT NULL,
  device_id uuid NOT NULL,
  -- Its place among those of the device.
  place smallint NOT NULL,
  PRIMARY KEY (organization_id, folded),
  FOREIGN KEY (organization_id, device_id) REFERENCES devices (organization_id, id)
);
CREATE INDEX device_references_device ON device_references (device_id);
ALTER TABLE device_references ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON device_references TO fieldline_tenant
  USING (organization_id = (SELECT current_organization()))
  WITH CHECK (organization_id = (SELECT current_organization()));
GRANT SELECT, INSERT, UPDATE, DELETE ON device_references TO fieldline_tenant;
INSERT INTO row_caps (table_name, bounded_by) VALUES ('device_references', 'at most 8 for each device');
