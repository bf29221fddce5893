-- How large the file of an import is. It is kept while the import waits or is worked on, and where rows failed. 0 is one of
-- before this.
ALTER TABLE imports ADD COLUMN file_bytes bigint NOT NULL DEFAULT 0;
