-- When a device was last heard of, with a point or without. Written about once a minute for each device that speaks
-- (ingest/last-seen.ts), so there is room in the page for the new row.
ALTER TABLE devices ADD COLUMN last_seen_at timestamptz;
ALTER TABLE devices SET (fillfactor = 80);
ALTER TABLE users SET (fillfactor = 80);
