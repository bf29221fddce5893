-- Removing sample data finds the few there are at once.
CREATE INDEX data_records_sample ON data_records (organization_id) WHERE is_sample;
