-- The form of an address for comparison is stored, because SQL cannot compute it: domains are folded by IDNA
-- (db/email-address.ts). It is null if another account has the same address in another spelling, from the time when
-- only A to Z were folded: nobody signs in with such a row.
ALTER TABLE accounts ADD COLUMN folded_email text;
-- For ASCII addresses it is the same text. db/fold-stored-addresses.ts folds the others, and the keys of data records.
UPDATE accounts SET folded_email = lower(email COLLATE "C") WHERE octet_length(email) = char_length(email);
DROP INDEX accounts_email;
CREATE UNIQUE INDEX accounts_email ON accounts (folded_email);

CREATE OR REPLACE VIEW user_accounts WITH (security_barrier) AS
  SELECT u.id AS user_id, a.email, a.registered_in IS NOT DISTINCT FROM u.organization_id AS registered_here, a.folded_email
  FROM users u JOIN accounts a ON a.id = u.account_id
  WHERE u.organization_id = (SELECT current_organization());
