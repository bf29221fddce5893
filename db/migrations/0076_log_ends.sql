-- How far a log is stored that the database has left for another one, in its own offsets: when it comes back, storing goes on there.
CREATE TABLE log_ends (
  log text NOT NULL,
  log_partition integer NOT NULL,
  next_offset bigint NOT NULL,
  PRIMARY KEY (log, log_partition)
);
