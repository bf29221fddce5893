-- The answers of POSTs with an Idempotency-Key, to be sent again (src/http/plugins/idempotency.ts). Only the plugin
-- reads and writes them, across organizations, so the tenant role has no grant.

CREATE TABLE idempotency_keys (
  -- SHA-256 of the key and its owner.
  id bytea PRIMARY KEY,
  organization_id uuid REFERENCES organizations ON DELETE CASCADE,
  -- SHA-256 of the request: the same key with another body is a mistake.
  fingerprint bytea NOT NULL,
  -- The first request's lease, extended while it runs. After that its process has died.
  lease_until timestamptz NOT NULL,
  status integer,
  -- Encrypted: it may hold a token or a key.
  answer bytea,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX idempotency_keys_created ON idempotency_keys (created_at);
CREATE INDEX idempotency_keys_organization ON idempotency_keys (organization_id);
ALTER TABLE idempotency_keys ENABLE ROW LEVEL SECURITY;
