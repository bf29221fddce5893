-- Keys for programs. A key is a membership without an account: its name, role and hubs are those of its row in users, so
-- that everything that refers to who did it refers to keys as well, and a role that a key holds cannot be deleted.
ALTER TABLE users ALTER COLUMN account_id DROP NOT NULL;

CREATE TABLE api_keys (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  -- The beginning of the secret, by which people recognize it.
  prefix text NOT NULL,
  expires_at timestamptz,
  rotated_at timestamptz,
  -- Until when the secret from before the last rotation is valid.
  former_expires_at timestamptz,
  last_used_at timestamptz,
  last_used_from text,
  created_by uuid,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  FOREIGN KEY (organization_id, id) REFERENCES users (organization_id, id) ON DELETE CASCADE,
  -- A key survives the one who created it.
  FOREIGN KEY (organization_id, created_by) REFERENCES users (organization_id, id) ON DELETE SET NULL (created_by)
);
CREATE INDEX api_keys_organization ON api_keys (organization_id);
CREATE INDEX api_keys_creator ON api_keys (created_by) WHERE created_by IS NOT NULL;
ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON api_keys TO fieldline_tenant
  USING (organization_id = (SELECT current_organization()))
  WITH CHECK (organization_id = (SELECT current_organization()));
GRANT SELECT, INSERT, UPDATE, DELETE ON api_keys TO fieldline_tenant;

-- A secret is a session that is found by the SHA-256 of 256 random bits. So it ends where sessions end: everywhere, at once.
ALTER TABLE sessions ADD COLUMN key_digest bytea;
CREATE UNIQUE INDEX sessions_key_digest ON sessions (key_digest) WHERE key_digest IS NOT NULL;

SELECT cap_rows('api_keys', 500, 'API keys');
-- Keys take no room of users.
UPDATE row_caps SET max = max + 500, unit = 'users and API keys' WHERE table_name = 'users' AND measure = 'count(*)';

-- The name of the key that did it, since entries outlive keys.
ALTER TABLE audit_log ADD COLUMN api_key_name text;

-- API keys join the catalogue: the default roles that hold every permission on members hold these too.
UPDATE roles SET updated_at = now(), permission_details = permission_details || '[
    {"permissionName": "view/api-key", "scope": "all"}, {"permissionName": "create/api-key", "scope": "all"},
    {"permissionName": "update/api-key", "scope": "all"}, {"permissionName": "delete/api-key", "scope": "all"}]'::jsonb
  WHERE is_default AND name IN ('Owner', 'Admin')
    AND NOT permission_details @> '[{"permissionName": "view/api-key"}]';
