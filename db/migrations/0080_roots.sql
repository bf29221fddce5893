-- The root of each organization and account, so that tenants share resources by independent roots: one account creates
-- organizations at will, and further accounts by inviting itself (db/roots.ts).

-- Null for the server's operator (the first account): the organizations that it creates and the accounts that it
-- invites are independent.
ALTER TABLE accounts ADD root uuid;
-- Null stands for the organization itself.
ALTER TABLE organizations ADD root uuid;
CREATE INDEX organizations_root ON organizations (root);

-- Accounts that were registered from one network address within a day have one root.
CREATE TABLE registrations (
  address text PRIMARY KEY,
  root uuid NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
);

-- For rows of earlier releases: an organization has the root of its first member, and an account the root of the
-- organization in which it first registered.
DO $$
DECLARE
  changed integer := 1;
  rounds integer := 0;
BEGIN
  CREATE TEMPORARY TABLE founders ON COMMIT DROP AS
    SELECT DISTINCT ON (organization_id) organization_id, account_id FROM users
    WHERE joined_at IS NOT NULL ORDER BY organization_id, joined_at, id;
  CREATE TEMPORARY TABLE operator ON COMMIT DROP AS SELECT id FROM accounts ORDER BY created_at, id LIMIT 1;
  UPDATE accounts SET root = id WHERE password_hash IS NOT NULL AND id NOT IN (SELECT id FROM operator);
  -- A longer chain of invitations is cut.
  WHILE changed > 0 AND rounds < 32 LOOP
    UPDATE accounts a SET root = f.root
    FROM (SELECT founders.organization_id, accounts.id, accounts.root FROM founders JOIN accounts ON accounts.id = account_id) f
    WHERE f.organization_id = a.registered_in AND f.id <> a.id AND a.root IS NOT NULL AND a.root <> f.root;
    GET DIAGNOSTICS changed = ROW_COUNT;
    rounds := rounds + 1;
  END LOOP;
  UPDATE organizations o SET root = coalesce(a.root, o.id)
  FROM founders f JOIN accounts a ON a.id = f.account_id WHERE f.organization_id = o.id;
END $$;

-- Jobs wait by root.
ALTER TABLE jobs DROP COLUMN queue, ADD root uuid,
  -- The turns after which it gave way to others and waited again.
  ADD turns integer NOT NULL DEFAULT 0;
UPDATE jobs j SET root = o.root FROM organizations o WHERE o.id = j.organization_id;
ALTER TABLE jobs ADD queue uuid NOT NULL
  GENERATED ALWAYS AS (coalesce(root, organization_id, '00000000-0000-0000-0000-000000000000')) STORED;
CREATE INDEX jobs_queued ON jobs (kind, queue, run_at, id) WHERE status = 'queued';
