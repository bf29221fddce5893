-- The parts of an organization besides its people: their hubs, flows, teams, invitations, the audit log, and failed
-- sign-ins.

-- Set when an organization is deleted: access ends with it, and a job removes the rows.
ALTER TABLE organizations ADD COLUMN deleted_at timestamptz;

-- Null until the first invitation is accepted: an invited address that has not registered anywhere.
ALTER TABLE accounts ALTER COLUMN password_hash DROP NOT NULL;

-- The start of the membership; null while the invitation is open. Copying takes the organization that was joined first
-- as its source.
ALTER TABLE users ADD COLUMN joined_at timestamptz;
UPDATE users SET joined_at = created_at;
ALTER TABLE users ADD CONSTRAINT users_organization_id_id UNIQUE (organization_id, id);

-- So that people recognize their sessions.
ALTER TABLE sessions ADD COLUMN user_agent text, ADD COLUMN address text;

CREATE TABLE user_hubs (
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  user_id uuid NOT NULL,
  hub_id uuid NOT NULL,
  PRIMARY KEY (user_id, hub_id),
  FOREIGN KEY (organization_id, user_id) REFERENCES users (organization_id, id) ON DELETE CASCADE,
  FOREIGN KEY (organization_id, hub_id) REFERENCES hubs (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX user_hubs_hub ON user_hubs (hub_id);

CREATE TABLE invitations (
  user_id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  -- SHA-256 of 256 random bits, like a device's key.
  token_hash bytea NOT NULL UNIQUE,
  expires_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  FOREIGN KEY (organization_id, user_id) REFERENCES users (organization_id, id) ON DELETE CASCADE
);

-- Failed sign-ins by account (`account:` and a digest of the e-mail address, so that unknown ones are counted alike)
-- and by network address (`address:`).
CREATE TABLE login_failures (
  key text PRIMARY KEY,
  failures integer NOT NULL,
  last_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE flows (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  name text NOT NULL,
  is_default boolean NOT NULL DEFAULT false,
  data_type_id uuid,
  steps jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, name),
  UNIQUE (organization_id, id)
);

CREATE TABLE teams (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  name text NOT NULL,
  hub_id uuid,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, name),
  UNIQUE (organization_id, id),
  FOREIGN KEY (organization_id, hub_id) REFERENCES hubs (organization_id, id)
);
CREATE INDEX teams_hub ON teams (hub_id);

-- The users of a team: as members, as leaders, or as both.
CREATE TABLE team_users (
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  team_id uuid NOT NULL,
  user_id uuid NOT NULL,
  is_member boolean NOT NULL,
  is_leader boolean NOT NULL,
  CHECK (is_member OR is_leader),
  PRIMARY KEY (team_id, user_id),
  FOREIGN KEY (organization_id, team_id) REFERENCES teams (organization_id, id) ON DELETE CASCADE,
  FOREIGN KEY (organization_id, user_id) REFERENCES users (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX team_users_user ON team_users (user_id);

-- The history of changes with their authors. No reference to the user: the entry outlives it.
CREATE TABLE audit_log (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  at timestamptz NOT NULL DEFAULT now(),
  user_id uuid,
  action text NOT NULL,
  resource text NOT NULL,
  resource_id uuid,
  changes jsonb NOT NULL
);
CREATE INDEX audit_log_organization ON audit_log (organization_id, at, id);
CREATE INDEX audit_log_resource ON audit_log (organization_id, resource_id, at);

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['user_hubs', 'invitations', 'flows', 'teams', 'team_users', 'audit_log'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY tenant ON %I TO fieldline_tenant
      USING (organization_id = (SELECT current_organization()))
      WITH CHECK (organization_id = (SELECT current_organization()))', name);
  END LOOP;
END $$;

GRANT SELECT, INSERT, UPDATE, DELETE ON user_hubs, flows, teams, team_users TO fieldline_tenant;
-- Entries are inserted and read, but never changed.
GRANT SELECT, INSERT ON audit_log TO fieldline_tenant;
GRANT SELECT, INSERT, UPDATE, DELETE ON invitations TO fieldline_tenant;

-- Ends the sessions of a user who is no longer active, whichever statement changed that. It runs as the owner of the
-- tables: the tenant role has no grant on sessions.
CREATE FUNCTION end_sessions() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  DELETE FROM sessions WHERE user_id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER end_sessions AFTER UPDATE OF status ON users FOR EACH ROW WHEN (NEW.status <> 'active')
  EXECUTE FUNCTION end_sessions();

-- The e-mail addresses of the organization's own users. Accounts stay ungranted: they belong to no organization. The
-- view runs as the owner of the tables, so it filters by organization itself.
CREATE VIEW user_accounts WITH (security_barrier) AS
  SELECT u.id AS user_id, a.email, a.registered_in IS NOT DISTINCT FROM u.organization_id AS registered_here
  FROM users u JOIN accounts a ON a.id = u.account_id
  WHERE u.organization_id = (SELECT current_organization());
GRANT SELECT ON user_accounts TO fieldline_tenant;
