-- Mail: invitations and forgotten passwords. A token is stored as its SHA-256, as before; until its mail has been handed over it
-- is also here sealed with the server's secret (src/mail/tokens.ts), because the mail has to be written again for each attempt.

ALTER TABLE invitations
  -- How the mail of the present token fares; null if the inviter passes the token on.
  ADD COLUMN mail text CHECK (mail IN ('waiting', 'sent', 'refused', 'failed')),
  -- The job that sends it; the job of an earlier token sends nothing any more.
  ADD COLUMN mail_job uuid,
  ADD COLUMN sealed_token bytea CHECK (octet_length(sealed_token) <= 500);
CREATE UNIQUE INDEX invitations_mail_job ON invitations (mail_job);

CREATE TABLE password_resets (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
  token_hash bytea NOT NULL UNIQUE,
  -- Null once the mail has been handed over, or never will be.
  sealed_token bytea CHECK (octet_length(sealed_token) <= 500),
  language text,
  requested_at timestamptz NOT NULL DEFAULT now(),
  -- The link's hour begins when its mail is handed over.
  expires_at timestamptz NOT NULL
);
CREATE INDEX password_resets_account ON password_resets (account_id);
CREATE INDEX password_resets_age ON password_resets (expires_at);

-- Whichever way a password is changed, links to replace the one before end with it.
CREATE FUNCTION end_password_resets() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  DELETE FROM password_resets WHERE account_id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER end_password_resets AFTER UPDATE OF password_hash ON accounts FOR EACH ROW
  WHEN (NEW.password_hash IS DISTINCT FROM OLD.password_hash) EXECUTE FUNCTION end_password_resets();

-- How often something was done within a window that begins with the first time: requests of a network address, mails to
-- somebody. All processes count together.
CREATE TABLE allowances (
  key text PRIMARY KEY CHECK (octet_length(key) <= 200),
  used integer NOT NULL,
  ends_at timestamptz NOT NULL
);
CREATE INDEX allowances_end ON allowances (ends_at);
