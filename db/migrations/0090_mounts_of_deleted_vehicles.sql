-- Who sees a point of a mount goes by the hub of its vehicle, so mounts outlive the vehicle, with the hub that it had last.
-- That is no reference: nobody has access to a hub that is deleted, so its points stay hidden from all but those who see
-- every hub.
ALTER TABLE mounts ALTER COLUMN vehicle_id DROP NOT NULL, ADD COLUMN hub_id uuid;

-- Before the row goes, so that the mounts still name it.
CREATE FUNCTION keep_mounts() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  UPDATE mounts SET vehicle_id = NULL, hub_id = OLD.hub_id,
    unmounted_at = coalesce(unmounted_at, greatest(clock_timestamp(), mounted_at))
  WHERE vehicle_id = OLD.id;
  RETURN OLD;
END $$;
CREATE TRIGGER keep_mounts BEFORE DELETE ON vehicles FOR EACH ROW EXECUTE FUNCTION keep_mounts();
