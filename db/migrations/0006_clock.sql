-- The time as it was when history was last dropped, so that a clock which leaps ahead is noticed before it costs a year of
-- points. One row.
CREATE TABLE clock (
  single boolean PRIMARY KEY DEFAULT true CHECK (single),
  seen_at timestamptz NOT NULL,
  -- Since when the clock has stood further ahead than is believed at once.
  doubted_since timestamptz
);
INSERT INTO clock (seen_at) SELECT coalesce(max(received_at), now()) FROM newest_fixes;
