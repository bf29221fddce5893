-- The targets of events, and their deliveries.

CREATE TABLE webhooks (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  url text NOT NULL,
  events text[] NOT NULL,
  description text NOT NULL DEFAULT '',
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
  secret text NOT NULL,
  -- The secret before the last rotation, which also signs for a day.
  previous_secret text,
  previous_until timestamptz,
  -- An endpoint that keeps connections waiting rests, longer each time.
  slow_failures integer NOT NULL DEFAULT 0,
  rests_until timestamptz NOT NULL DEFAULT '-infinity',
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, id)
);

CREATE TABLE webhook_deliveries (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  webhook_id uuid NOT NULL,
  -- The same for every attempt, so that a receiver recognizes repetitions.
  message_id text NOT NULL,
  event text NOT NULL,
  -- The type whose fields the payload has: some roles may not see all of them.
  data_type_id uuid NOT NULL,
  -- The bytes that are sent and signed.
  payload text NOT NULL,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed')),
  -- The attempts, each { at, statusCode, durationMs, response, error }; including redeliveries.
  attempts jsonb NOT NULL DEFAULT '[]',
  -- The progress in the schedule of retries, which a redelivery restarts.
  tries integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT now(),
  FOREIGN KEY (organization_id, webhook_id) REFERENCES webhooks (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (webhook_id, next_attempt_at, id)
  WHERE status = 'pending';
CREATE INDEX webhook_deliveries_webhook ON webhook_deliveries (webhook_id, id);
CREATE INDEX webhook_deliveries_organization ON webhook_deliveries (organization_id);

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['webhooks', 'webhook_deliveries'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY tenant ON %I TO fieldline_tenant
      USING (organization_id = (SELECT current_organization()))
      WITH CHECK (organization_id = (SELECT current_organization()))', name);
  END LOOP;
END $$;
GRANT SELECT, INSERT, UPDATE, DELETE ON webhooks TO fieldline_tenant;
GRANT SELECT, UPDATE ON webhook_deliveries TO fieldline_tenant;
