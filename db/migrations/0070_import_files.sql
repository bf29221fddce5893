-- The size of an import's file. It is kept while the import waits or runs, and if rows failed. 0 for imports before
-- this migration.
ALTER TABLE imports ADD COLUMN file_bytes bigint NOT NULL DEFAULT 0;
