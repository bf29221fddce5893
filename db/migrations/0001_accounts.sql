-- Identities and permissions: accounts, organizations, roles, users, sessions.
--
-- An account is a person's e-mail address and password; a user is its membership in one organization. So a changed
-- password applies in every organization by construction.

CREATE TABLE organizations (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  logo text,
  language text NOT NULL DEFAULT 'en',
  currency text NOT NULL DEFAULT 'EUR',
  time_zone text NOT NULL DEFAULT 'UTC',
  settings jsonb NOT NULL DEFAULT '{}',
  -- Raised whenever the visibility of subjects changes; a live cursor carries it (stream/live/cursor.ts).
  sight_version bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE accounts (
  id uuid PRIMARY KEY,
  email text NOT NULL,
  password_hash text NOT NULL,
  -- Specification 5.4: only administrators of this organization may reset the password.
  registered_in uuid REFERENCES organizations ON DELETE SET NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX accounts_email ON accounts (lower(email));

CREATE TABLE roles (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  name text NOT NULL,
  is_default boolean NOT NULL DEFAULT false,
  permission_details jsonb NOT NULL DEFAULT '[]',
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, name),
  UNIQUE (organization_id, id)
);

-- Users and devices, which have positions. Points carry the short key: that saves 24 bytes a point compared with the
-- identifier, in the row and in its index. A subject outlives its user or device, since its history does.
CREATE TABLE subjects (
  key integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id uuid NOT NULL UNIQUE,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  type text NOT NULL CHECK (type IN ('user', 'device')),
  UNIQUE (organization_id, id)
);

CREATE TABLE users (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  account_id uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
  role_id uuid NOT NULL,
  name text NOT NULL,
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'invited', 'suspended')),
  -- Signing in without naming an organization leads to the one used last.
  last_active_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, account_id),
  FOREIGN KEY (organization_id, role_id) REFERENCES roles (organization_id, id),
  FOREIGN KEY (organization_id, id) REFERENCES subjects (organization_id, id)
);
CREATE INDEX users_account ON users (account_id);
CREATE INDEX users_role ON users (role_id);

CREATE TABLE sessions (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);
CREATE INDEX sessions_user ON sessions (user_id);
CREATE INDEX sessions_expiry ON sessions (expires_at);
