-- Single sign-on by OpenID Connect. An account is bound to one identity at the provider: its issuer and subject.
CREATE TABLE account_identities (
  account_id uuid PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
  issuer text NOT NULL,
  subject text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (issuer, subject)
);

-- The codes with which a page gets its session after single sign-on, each once, by their SHA-256.
CREATE TABLE sign_in_codes (
  digest bytea PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
  wanted uuid NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX sign_in_codes_account ON sign_in_codes (account_id);
CREATE INDEX sign_in_codes_expiry ON sign_in_codes (expires_at);

-- Whether the provider let the person in, who is asked for no second factor here then.
ALTER TABLE sessions ADD COLUMN by_provider boolean NOT NULL DEFAULT false;

-- The first account is found by its age.
CREATE INDEX accounts_age ON accounts (created_at, id);
