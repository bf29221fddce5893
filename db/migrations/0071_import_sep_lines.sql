-- Whether the rows of a CSV are counted with its line `sep=;`, which a spreadsheet hides: so it is, to their end, for
-- imports that began before this migration.
ALTER TABLE imports ADD COLUMN counts_sep boolean NOT NULL DEFAULT true;
