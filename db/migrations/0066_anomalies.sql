-- A fix that its neighbours in time show to be impossible (speed), or that is less accurate than the organization takes
-- (accuracy), is kept and marked. What was stored before stays unmarked, until a late point comes beside it.
ALTER TABLE points ADD COLUMN anomaly text;

-- The newest fix is the newest that is not marked; a subject without one has none. `last_at` and `last_position` are of the
-- last point where that is another, and `fast` says whether more than 100 m/s lie between the last point and the one before
-- it: whoever stores the next one judges the last by it. `replaced_offset` is `log_offset` as the writer knew it, so that one
-- who does not know the last point any more judges nothing (db/queries/copy-points.ts).
ALTER TABLE newest_fixes
  ALTER COLUMN recorded_at DROP NOT NULL,
  ALTER COLUMN received_at DROP NOT NULL,
  ALTER COLUMN position DROP NOT NULL,
  ADD COLUMN last_at timestamptz,
  ADD COLUMN replaced_offset bigint,
  ADD COLUMN last_position geometry(Point, 4326),
  ADD COLUMN fast boolean NOT NULL DEFAULT false;
