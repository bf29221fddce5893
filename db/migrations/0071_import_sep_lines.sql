-- Whether the rows of a CSV are numbered with its line sep=; , which a spreadsheet hides: so were those of imports that began
-- before this, and are to their end.
ALTER TABLE imports ADD COLUMN counts_sep boolean NOT NULL DEFAULT true;
