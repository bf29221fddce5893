-- A browser has a session of its own in each organization that it shows: those opened from one sign-in name its session, and end
-- with it. NULL: the session of a sign-in itself, and every session of the release before.
ALTER TABLE sessions ADD COLUMN sign_in_id uuid;
CREATE UNIQUE INDEX sessions_sign_in ON sessions (sign_in_id, user_id) WHERE sign_in_id IS NOT NULL;
