-- When a webhook was tested last: a test is sent at most every ten seconds.
ALTER TABLE webhooks ADD tested_at timestamptz;
-- Row-level security binds what the tenant role inserts to its organization.
GRANT INSERT ON webhook_events TO fieldline_tenant;
