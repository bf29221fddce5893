-- A database may change its log: from the one of one process to Kafka, to another cluster or prefix, and back. The
-- offsets of the new one are raised by `base`, so that they go on above what was stored of the old one. So cursors
-- hold, and rejections, which are known by their place in the log, never take the place of another.
ALTER TABLE log_positions ADD COLUMN log text NOT NULL DEFAULT 'process';
ALTER TABLE log_positions ADD COLUMN base bigint NOT NULL DEFAULT 0;
