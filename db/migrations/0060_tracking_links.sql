-- Links that show the position of one subject to somebody outside. The token is 256 random bits, of which only the
-- digest is stored.

CREATE TABLE tracking_links (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations ON DELETE CASCADE,
  subject_id uuid NOT NULL,
  -- The creator: the link shows no more than this user may see.
  user_id uuid NOT NULL,
  token_hash bytea NOT NULL UNIQUE,
  trail_minutes integer NOT NULL CHECK (trail_minutes >= 0),
  expires_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  FOREIGN KEY (organization_id, subject_id) REFERENCES subjects (organization_id, id),
  FOREIGN KEY (organization_id, user_id) REFERENCES users (organization_id, id) ON DELETE CASCADE
);
CREATE INDEX tracking_links_organization ON tracking_links (organization_id, id);
CREATE INDEX tracking_links_subject ON tracking_links (subject_id);
CREATE INDEX tracking_links_user ON tracking_links (user_id);
CREATE INDEX tracking_links_expires ON tracking_links (expires_at);

ALTER TABLE tracking_links ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON tracking_links TO fieldline_tenant
  USING (organization_id = (SELECT current_organization()))
  WITH CHECK (organization_id = (SELECT current_organization()));
GRANT SELECT, INSERT, DELETE ON tracking_links TO fieldline_tenant;
