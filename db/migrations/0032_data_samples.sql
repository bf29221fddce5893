-- Deleting sample data finds its few records at once.
CREATE INDEX data_records_sample ON data_records (organization_id) WHERE is_sample;
