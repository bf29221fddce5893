-- A deleted device keeps its hub, which decides who sees its old points and crossings. That is no reference (as 0090 says of
-- mounts): the hub may be deleted, and nobody has access to it then. The hub of a device that is not deleted is one.
ALTER TABLE devices ADD COLUMN bound_hub_id uuid;

CREATE FUNCTION bind_to_hub() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.bound_hub_id := CASE WHEN NEW.deleted_at IS NULL THEN NEW.hub_id END;
  RETURN NEW;
END $$;
CREATE TRIGGER bind_to_hub BEFORE INSERT OR UPDATE OF hub_id, deleted_at, bound_hub_id ON devices
  FOR EACH ROW EXECUTE FUNCTION bind_to_hub();

UPDATE devices SET bound_hub_id = hub_id WHERE deleted_at IS NULL AND hub_id IS NOT NULL;
CREATE INDEX devices_bound_hub ON devices (bound_hub_id) WHERE bound_hub_id IS NOT NULL;
ALTER TABLE devices ADD CONSTRAINT devices_bound_hub FOREIGN KEY (organization_id, bound_hub_id)
  REFERENCES hubs (organization_id, id);
ALTER TABLE devices DROP CONSTRAINT devices_organization_id_hub_id_fkey;
