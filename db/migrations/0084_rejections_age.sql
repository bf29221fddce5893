-- Rejections of over 30 days go by their age alone, whichever subject they are of (db/queries/rejections.ts).
CREATE INDEX rejections_received ON rejections (received_at);
