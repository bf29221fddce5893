-- Rejections over 30 days old are deleted by their age alone, for all subjects (db/queries/rejections.ts).
CREATE INDEX rejections_received ON rejections (received_at);
