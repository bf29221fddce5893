-- Geofences join the catalogue: the default roles that hold every permission on records hold these too.
UPDATE roles SET updated_at = now(), permission_details = permission_details || '[
    {"permissionName": "view/geofence", "scope": "all"}, {"permissionName": "create/geofence", "scope": "all"},
    {"permissionName": "update/geofence", "scope": "all"}, {"permissionName": "delete/geofence", "scope": "all"}]'::jsonb
  WHERE is_default AND name IN ('Owner', 'Admin', 'Planner')
    AND NOT permission_details @> '[{"permissionName": "view/geofence"}]';
