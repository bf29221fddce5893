-- The key of the field by which records were found again when the file was accepted. Null is none, or of before this.
ALTER TABLE imports ADD COLUMN primary_key text;
