-- Some settings of an organization decide what its live sockets show, so a change of them is announced like a change of
-- visibility. Older cursors lead to a fresh snapshot.
CREATE FUNCTION raise_visibility_of_settings() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.visibility_version := OLD.visibility_version + 1;
  PERFORM pg_notify('fieldline', json_build_object('kind', 'visibility', 'organizationId', NEW.id)::text);
  RETURN NEW;
END $$;

CREATE TRIGGER raise_visibility_of_settings BEFORE UPDATE OF settings ON organizations FOR EACH ROW
  WHEN (OLD.settings -> 'offlineAfterMinutes' IS DISTINCT FROM NEW.settings -> 'offlineAfterMinutes'
    OR OLD.settings -> 'maxAccuracy' IS DISTINCT FROM NEW.settings -> 'maxAccuracy')
  EXECUTE FUNCTION raise_visibility_of_settings();
