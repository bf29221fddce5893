-- The data types of the records whose fields an entry names. A reader is shown only the names that its role lets it
-- see, because a change of a value reveals something about it. Null, in older entries, means unknown.
ALTER TABLE audit_log ADD COLUMN data_type_ids uuid[];
