-- The messages of a connection in the current minute and in the one before it.
ALTER TABLE connection_states
  ADD COLUMN minute timestamptz NOT NULL DEFAULT '-infinity',
  ADD COLUMN minute_messages bigint NOT NULL DEFAULT 0,
  ADD COLUMN former_messages bigint NOT NULL DEFAULT 0;

UPDATE row_caps SET bounded_by = 'the newest 100 of an unknown reference, within 64 KiB' WHERE table_name = 'unknown_points';
