-- Renames the organization's version to visibility version, in notifications as well.
ALTER TABLE organizations RENAME COLUMN sight_version TO visibility_version;

-- The arguments of a trigger on UPDATE are the relevant columns; changes of others are ignored.
CREATE OR REPLACE FUNCTION raise_visibility() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  changed uuid[];
  pairs text;
BEGIN
  IF TG_OP = 'INSERT' THEN
    SELECT array_agg(DISTINCT organization_id) INTO changed FROM new_rows;
  ELSIF TG_OP = 'DELETE' THEN
    SELECT array_agg(DISTINCT organization_id) INTO changed FROM old_rows;
  ELSE
    SELECT string_agg(format('o.%1$I IS DISTINCT FROM n.%1$I', name), ' OR ') INTO pairs FROM unnest(TG_ARGV) name;
    EXECUTE format('SELECT array_agg(DISTINCT n.organization_id) FROM old_rows o JOIN new_rows n USING (id) WHERE %s', pairs)
      INTO changed;
  END IF;
  IF changed IS NULL THEN
    RETURN NULL;
  END IF;
  -- In one order, so that two statements over several organizations cannot deadlock. The lock is no stronger than that
  -- of the UPDATE, since every insert of a row of the organization holds a key share lock on it.
  PERFORM 1 FROM organizations WHERE id = ANY (changed) ORDER BY id FOR NO KEY UPDATE;
  UPDATE organizations SET visibility_version = visibility_version + 1 WHERE id = ANY (changed);
  PERFORM pg_notify('fieldline', json_build_object('kind', 'visibility', 'organizationId', id)::text)
    FROM unnest(changed) id;
  RETURN NULL;
END $$;
