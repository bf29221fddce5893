-- The key of the field that identified records when the file was accepted. Null for no key, and for imports before this
-- migration.
ALTER TABLE imports ADD COLUMN primary_key text;
