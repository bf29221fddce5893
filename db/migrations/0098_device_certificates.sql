-- A device may sign in over TLS with a certificate instead of its key.
ALTER TABLE devices
  ADD COLUMN certificate_fingerprint bytea,
  ADD COLUMN certificate_begins_at timestamptz,
  ADD COLUMN certificate_expires_at timestamptz;
-- A client says with its certificate alone which device it is, so it belongs to one device on the whole server.
CREATE UNIQUE INDEX devices_certificate ON devices (certificate_fingerprint)
  WHERE certificate_fingerprint IS NOT NULL AND deleted_at IS NULL;
