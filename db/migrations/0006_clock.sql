-- The time at which history was last deleted, so that a clock that jumps ahead is noticed before it costs a year of
-- points. One row.
CREATE TABLE clock (
  single boolean PRIMARY KEY DEFAULT true CHECK (single),
  seen_at timestamptz NOT NULL,
  -- The time since which the clock has been too far ahead to be trusted at once.
  doubted_since timestamptz
);
INSERT INTO clock (seen_at) SELECT coalesce(max(received_at), now()) FROM newest_fixes;
