-- A session is renewed by a new token, and the old token ends. A token says how often its session had been renewed when it was
-- signed; tokens from before this migration say nothing, which is 0.
ALTER TABLE sessions ADD COLUMN renewals integer NOT NULL DEFAULT 0;
