-- Changing the end of a key that has no former secret showed one: it has a single secret.
UPDATE api_keys k SET former_expires_at = NULL WHERE former_expires_at IS NOT NULL
  AND (rotated_at IS NULL OR (SELECT count(*) FROM sessions s WHERE s.user_id = k.id) < 2);
