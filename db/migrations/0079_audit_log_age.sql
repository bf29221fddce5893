-- Entries of over a year go by their age alone, whichever organization they are of (db/queries/audit-log.ts).
CREATE INDEX audit_log_at ON audit_log (at);
