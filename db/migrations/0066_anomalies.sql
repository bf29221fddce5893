-- A fix that its neighbours in time show to be impossible (speed), or that is less accurate than the organization
-- accepts (accuracy), is stored and marked. Older points stay unmarked, until a late point is stored beside them.
ALTER TABLE points ADD COLUMN anomaly text;

-- The newest fix is the newest unmarked one; a subject without one has none. `last_at` and `last_position` belong to
-- the last point if that is another one, and `fast` says whether the speed from its predecessor to the last point
-- exceeds 100 m/s: the next stored point decides whether the last one is an anomaly. `replaced_offset` is the
-- `log_offset` that the writer knew, so that a writer with an outdated last point changes nothing
-- (db/queries/copy-points.ts).
ALTER TABLE newest_fixes
  ALTER COLUMN recorded_at DROP NOT NULL,
  ALTER COLUMN received_at DROP NOT NULL,
  ALTER COLUMN position DROP NOT NULL,
  ADD COLUMN last_at timestamptz,
  ADD COLUMN replaced_offset bigint,
  ADD COLUMN last_position geometry(Point, 4326),
  ADD COLUMN fast boolean NOT NULL DEFAULT false;
