-- An event is one row, however many webhooks subscribe to it. A job gives it a position among the organization's
-- events, and each webhook takes the events after its own position.

CREATE TABLE webhook_events (
  -- Also the name of the message.
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  event text NOT NULL,
  -- The type whose fields the payload has: some roles may not see all of them. Null for crossings.
  data_type_id uuid,
  -- The bytes that are sent and signed.
  payload text NOT NULL,
  -- Null until its transaction has ended and the job has seen it: no event gets a position before one that was seen
  -- earlier.
  position bigint,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (organization_id, id)
);
CREATE INDEX webhook_events_unplaced ON webhook_events (organization_id, created_at, id) WHERE position IS NULL;
CREATE INDEX webhook_events_placed ON webhook_events (organization_id, event, position) WHERE position IS NOT NULL;
CREATE SEQUENCE webhook_event_positions;
-- Before its first use, a sequence's last value is one that it has not returned yet.
SELECT nextval('webhook_event_positions');

ALTER TABLE webhooks
  -- All events up to this position have been taken.
  ADD position bigint NOT NULL DEFAULT 0,
  -- Earlier events do not count for the webhook.
  ADD listens_since timestamptz NOT NULL DEFAULT clock_timestamp(),
  ADD deleted_at timestamptz;
CREATE INDEX webhooks_inactive ON webhooks (id) WHERE status = 'disabled';

-- Deliveries of earlier releases have been created already: position 0.
INSERT INTO webhook_events (id, organization_id, event, data_type_id, payload, position, created_at)
SELECT DISTINCT ON (message_id) substr(message_id, 5)::uuid, organization_id, event, data_type_id, payload, 0, created_at
FROM webhook_deliveries ORDER BY message_id;
ALTER TABLE webhook_deliveries ADD event_id uuid;
UPDATE webhook_deliveries SET event_id = substr(message_id, 5)::uuid;
DROP INDEX webhook_deliveries_organization;
ALTER TABLE webhook_deliveries
  ALTER event_id SET NOT NULL,
  DROP message_id, DROP event, DROP data_type_id, DROP payload,
  ADD FOREIGN KEY (organization_id, event_id) REFERENCES webhook_events (organization_id, id);
CREATE INDEX webhook_deliveries_event ON webhook_deliveries (organization_id, event_id);

ALTER TABLE webhook_events ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON webhook_events TO fieldline_tenant
  USING (organization_id = (SELECT current_organization()))
  WITH CHECK (organization_id = (SELECT current_organization()));
GRANT SELECT, UPDATE ON webhook_events TO fieldline_tenant;
GRANT INSERT ON webhook_deliveries TO fieldline_tenant;
GRANT USAGE, SELECT ON SEQUENCE webhook_event_positions TO fieldline_tenant;
