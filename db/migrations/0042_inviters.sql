-- An invitation holds only as long as its inviter's rights: the user who created or renewed it knows its token.
ALTER TABLE invitations ADD COLUMN invited_by uuid,
  ADD FOREIGN KEY (organization_id, invited_by) REFERENCES users (organization_id, id) ON DELETE SET NULL (invited_by);
CREATE INDEX invitations_inviter ON invitations (invited_by);
UPDATE invitations i SET invited_by = (
  SELECT l.user_id FROM audit_log l JOIN users u ON u.id = l.user_id AND u.organization_id = l.organization_id
  WHERE l.organization_id = i.organization_id AND l.resource_id = i.user_id AND l.action IN ('invite', 'renew-invitation')
  ORDER BY l.at DESC LIMIT 1);
