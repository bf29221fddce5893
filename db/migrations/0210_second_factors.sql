-- The second factor of an account: the secret of time-based codes (RFC 6238), sealed with a key derived from JWT_SECRET.
-- Like accounts, these tables belong to no organization, and the tenant role has no grant on them.
CREATE TABLE second_factors (
  account_id uuid PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
  secret text NOT NULL,
  -- Null until a first code has shown that the person holds the secret.
  confirmed_at timestamptz,
  -- The step of 30 seconds of the newest code that counted: neither it nor an earlier one counts again.
  last_step bigint,
  created_at timestamptz NOT NULL DEFAULT now()
);

-- Each opens once, so it is deleted when it is used. A code has 80 random bits, so SHA-256 is enough.
CREATE TABLE recovery_codes (
  account_id uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
  digest bytea NOT NULL,
  PRIMARY KEY (account_id, digest)
);

-- A sign-in that has shown the password and still has to show a code, by the SHA-256 of its challenge.
CREATE TABLE login_challenges (
  digest bytea PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
  -- The SHA-256 of the hash of the password that was shown: another password ends the challenge.
  password_digest bytea NOT NULL,
  -- The organization that the sign-in named; null is the one that the account used last.
  wanted uuid,
  -- The digest of an invitation that is accepted with the code, and the name to join under.
  invitation bytea,
  name text,
  failures integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);
CREATE INDEX login_challenges_account ON login_challenges (account_id);
CREATE INDEX login_challenges_expiry ON login_challenges (expires_at);
