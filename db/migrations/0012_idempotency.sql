-- What a POST with an Idempotency-Key answered, to be answered again (src/http/plugins/idempotency.ts). Read and written
-- across organizations by the plugin alone, so the tenant role has no grant.

CREATE TABLE idempotency_keys (
  -- SHA-256 of whose key it is, and the key.
  id bytea PRIMARY KEY,
  organization_id uuid REFERENCES organizations ON DELETE CASCADE,
  -- SHA-256 of the request: the same key with another body is a mistake.
  fingerprint bytea NOT NULL,
  -- Until when the first request may take; extended while it runs. Beyond it its process has died.
  lease_until timestamptz NOT NULL,
  status integer,
  -- Encrypted: it may hold a token or a key.
  answer bytea,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX idempotency_keys_created ON idempotency_keys (created_at);
CREATE INDEX idempotency_keys_organization ON idempotency_keys (organization_id);
ALTER TABLE idempotency_keys ENABLE ROW LEVEL SECURITY;
