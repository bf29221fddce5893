-- Entries over a year old are deleted by their age alone, for all organizations (db/queries/audit-log.ts).
CREATE INDEX audit_log_at ON audit_log (at);
