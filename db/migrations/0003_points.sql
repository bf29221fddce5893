-- The final store of points. `points` is a hypertable if TimescaleDB is available when the database is first set up,
-- and range-partitioned elsewhere; that cannot change later. Columns are ordered by alignment: a point takes about 105
-- bytes and its index entry 28.

DO $$
BEGIN
  CREATE TABLE points_columns (
    recorded_at timestamptz NOT NULL,
    received_at timestamptz NOT NULL,
    subject_key integer NOT NULL,
    speed real,
    heading real,
    accuracy real,
    altitude real,
    battery real,
    position geometry(Point, 4326) NOT NULL,
    attributes jsonb
  );
  IF EXISTS (SELECT FROM pg_extension WHERE extname = 'timescaledb') THEN
    CREATE TABLE points (LIKE points_columns INCLUDING ALL);
    PERFORM create_hypertable('points', 'recorded_at', chunk_time_interval => interval '7 days',
      create_default_indexes => false);
  ELSE
    CREATE TABLE points (LIKE points_columns INCLUDING ALL) PARTITION BY RANGE (recorded_at);
  END IF;
  DROP TABLE points_columns;
END $$;

-- The identity of a point (one subject, one time), and the access path to a subject's history. There is no index on the
-- geometry: a GiST index costs 57 bytes a point and 40 % of the ingest rate.
CREATE UNIQUE INDEX points_identity ON points (subject_key, recorded_at);

-- The newest fix of each subject, with the log position of the record that set it (stream/live/positions.ts).
CREATE TABLE newest_fixes (
  recorded_at timestamptz NOT NULL,
  received_at timestamptz NOT NULL,
  log_offset bigint NOT NULL,
  subject_key integer PRIMARY KEY,
  log_partition integer NOT NULL,
  speed real,
  heading real,
  accuracy real,
  altitude real,
  battery real,
  position geometry(Point, 4326) NOT NULL,
  attributes jsonb
) WITH (fillfactor = 50);

-- The progress of the writers: set in the transaction that stores the points before it.
CREATE TABLE log_positions (
  log_partition integer PRIMARY KEY,
  next_offset bigint NOT NULL
) WITH (fillfactor = 10);

-- Invalid points. Identified by their position in the log, so that reading it again adds none.
CREATE TABLE rejections (
  log_partition integer NOT NULL,
  log_offset bigint NOT NULL,
  ordinal integer NOT NULL,
  subject_key integer NOT NULL,
  organization_id uuid NOT NULL,
  received_at timestamptz NOT NULL,
  reason text NOT NULL,
  message text NOT NULL,
  "index" integer,
  topic text,
  payload text,
  stored jsonb,
  PRIMARY KEY (log_partition, log_offset, ordinal)
);
CREATE INDEX rejections_subject ON rejections (subject_key, received_at DESC);

CREATE TABLE rejection_counts (
  subject_key integer NOT NULL,
  reason text NOT NULL,
  organization_id uuid NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY (subject_key, reason)
);
