-- The time when a device was last heard from, with or without a point. Written about once a minute for each active
-- device (ingest/last-seen.ts), so the page has room for the new row.
ALTER TABLE devices ADD COLUMN last_seen_at timestamptz;
ALTER TABLE devices SET (fillfactor = 80);
ALTER TABLE users SET (fillfactor = 80);
