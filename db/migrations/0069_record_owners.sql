-- A record's type, whose key begins with the organization, already proves that the organization exists: a second check
-- for each row cost an import 3 µs of 45.
ALTER TABLE data_records DROP CONSTRAINT data_records_organization_id_fkey;
