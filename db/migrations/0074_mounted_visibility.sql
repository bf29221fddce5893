-- A device is visible to those who may see the vehicle that it is on, so a change of the vehicle's hub counts as well.
DROP TRIGGER raise_visibility_update ON vehicles;
CREATE TRIGGER raise_visibility_update AFTER UPDATE ON vehicles REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION raise_visibility('name', 'hub_id');

-- The users who were shown a device's key, mounted it on its vehicle, and named the vehicle's driver: an app with the
-- key gets no more than all of them may see. Earlier ones are taken from the audit log.
ALTER TABLE devices ADD COLUMN key_by uuid;
ALTER TABLE mounts ADD COLUMN mounted_by uuid;
ALTER TABLE vehicles ADD COLUMN driver_by uuid;

UPDATE devices d SET key_by = told.user_id FROM (
  SELECT DISTINCT ON (organization_id, resource_id) organization_id, resource_id, user_id FROM audit_log
  WHERE resource = 'device' AND action IN ('create', 'rotate-key')
  ORDER BY organization_id, resource_id, at DESC, id DESC) told
  WHERE told.organization_id = d.organization_id AND told.resource_id = d.id;

UPDATE mounts m SET mounted_by = told.user_id FROM (
  SELECT DISTINCT ON (organization_id, device_id) organization_id, device_id, user_id FROM (
    SELECT organization_id, at, id, user_id, resource_id::text AS device_id FROM audit_log
      WHERE resource = 'device' AND changes ? 'vehicleId'
    UNION ALL SELECT organization_id, at, id, user_id, changes -> 'deviceId' ->> 'to' FROM audit_log
      WHERE resource = 'vehicle' AND changes ? 'deviceId') mounting
  ORDER BY organization_id, device_id, at DESC, id DESC) told
  WHERE m.unmounted_at IS NULL AND told.organization_id = m.organization_id AND told.device_id = m.device_id::text;

UPDATE vehicles v SET driver_by = told.user_id FROM (
  SELECT DISTINCT ON (organization_id, resource_id) organization_id, resource_id, user_id FROM audit_log
  WHERE resource = 'vehicle' AND changes ? 'driverId'
  ORDER BY organization_id, resource_id, at DESC, id DESC) told
  WHERE told.organization_id = v.organization_id AND told.resource_id = v.id AND v.driver_id IS NOT NULL;
