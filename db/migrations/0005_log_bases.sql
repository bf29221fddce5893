-- A database may change its log: from that of one process to Kafka, to another cluster or prefix, and back. The offsets
-- of the new log are raised by `base`, so that they continue above the stored ones of the old log. So cursors stay
-- valid, and rejections, which are identified by their position in the log, never replace each other.
ALTER TABLE log_positions ADD COLUMN log text NOT NULL DEFAULT 'process';
ALTER TABLE log_positions ADD COLUMN base bigint NOT NULL DEFAULT 0;
