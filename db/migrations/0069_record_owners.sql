-- That the organization of a record exists its type says already, whose key begins with it: a second look for each row cost
-- an import 3 µs of 45.
ALTER TABLE data_records DROP CONSTRAINT data_records_organization_id_fkey;
