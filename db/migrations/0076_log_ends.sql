-- The stored positions of a log that the database has left for another one, in the log's own offsets: if it is used
-- again, storing continues there.
CREATE TABLE log_ends (
  log text NOT NULL,
  log_partition integer NOT NULL,
  next_offset bigint NOT NULL,
  PRIMARY KEY (log, log_partition)
);
