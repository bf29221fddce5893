-- Network addresses from which an account has signed in: strangers who guess its password do not lock out attempts from
-- there. Kept for 90 days, at most the newest 20 of an account.
CREATE TABLE known_addresses (
  account_id uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
  address text NOT NULL,
  last_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, address)
);
CREATE INDEX known_addresses_age ON known_addresses (last_at);

-- The addresses of present sessions are known, except for IPv6 addresses, which are stored by network.
INSERT INTO known_addresses (account_id, address, last_at)
SELECT u.account_id, s.address, max(s.created_at) FROM sessions s JOIN users u ON u.id = s.user_id
WHERE s.address ~ '^[0-9.]+$' GROUP BY 1, 2;
