-- A device is on at most one vehicle, and a vehicle has at most one device. Of several on one vehicle the newest stays.
UPDATE mounts m SET unmounted_at = greatest(now(), m.mounted_at)
  WHERE m.unmounted_at IS NULL AND EXISTS (
    SELECT FROM mounts n WHERE n.vehicle_id = m.vehicle_id AND n.unmounted_at IS NULL
      AND (n.mounted_at, n.id) > (m.mounted_at, m.id));
CREATE UNIQUE INDEX mounts_current_vehicle ON mounts (vehicle_id) WHERE unmounted_at IS NULL;

-- A device on a vehicle is shown under the vehicle's name, so mounting and renaming change the display of live clients.
CREATE TRIGGER raise_visibility_insert AFTER INSERT ON mounts REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION raise_visibility();
CREATE TRIGGER raise_visibility_delete AFTER DELETE ON mounts REFERENCING OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION raise_visibility();
CREATE TRIGGER raise_visibility_update AFTER UPDATE ON mounts REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION raise_visibility('unmounted_at');
CREATE TRIGGER raise_visibility_update AFTER UPDATE ON vehicles REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION raise_visibility('name');
