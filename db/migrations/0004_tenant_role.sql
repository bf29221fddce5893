-- The separation of organizations. `db.tenant` runs as this role, which these policies bind; the owner of the tables
-- (db.system) is not bound. db/tenant-role.ts creates the role itself. Points, newest fixes, accounts and sessions are
-- not granted at all.

-- A subquery, so that the setting is read once per statement and not once per row.
CREATE FUNCTION current_organization() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
  RETURN nullif(current_setting('fieldline.organization_id', true), '')::uuid;

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['roles', 'subjects', 'users', 'hubs', 'vehicles', 'devices', 'mounts',
                              'rejections', 'rejection_counts'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY tenant ON %I TO fieldline_tenant
      USING (organization_id = (SELECT current_organization()))
      WITH CHECK (organization_id = (SELECT current_organization()))', name);
  END LOOP;
END $$;

ALTER TABLE organizations ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON organizations TO fieldline_tenant
  USING (id = (SELECT current_organization())) WITH CHECK (id = (SELECT current_organization()));

GRANT SELECT, UPDATE ON organizations TO fieldline_tenant;
GRANT SELECT, INSERT, UPDATE, DELETE ON roles, users, hubs, vehicles, devices, mounts TO fieldline_tenant;
GRANT SELECT, INSERT ON subjects TO fieldline_tenant;
GRANT SELECT ON rejections, rejection_counts TO fieldline_tenant;
