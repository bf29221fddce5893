-- Processes that answer apps cache whether an app may get the positions of a team, so its change is announced too.
DROP TRIGGER raise_visibility_of_settings ON organizations;
CREATE TRIGGER raise_visibility_of_settings BEFORE UPDATE OF settings ON organizations FOR EACH ROW
  WHEN (OLD.settings -> 'offlineAfterMinutes' IS DISTINCT FROM NEW.settings -> 'offlineAfterMinutes'
    OR OLD.settings -> 'maxAccuracy' IS DISTINCT FROM NEW.settings -> 'maxAccuracy'
    OR OLD.settings -> 'teamPositions' IS DISTINCT FROM NEW.settings -> 'teamPositions')
  EXECUTE FUNCTION raise_visibility_of_settings();
