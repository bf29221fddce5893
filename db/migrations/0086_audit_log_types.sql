-- The data types of the records whose values an entry names. A reader is shown only the names that its role lets it see,
-- because whether a value changed tells something of the value. Null, in older entries, is unknown.
ALTER TABLE audit_log ADD COLUMN data_type_ids uuid[];
