-- Every change of a subject's visibility or name, by whichever statement, announces itself: it raises the
-- organization's version, older live cursors lead to a fresh snapshot, and open sockets are checked again. One
-- statement is one change, however many rows it has.

-- The arguments of a trigger on UPDATE are the relevant columns; changes of others are ignored.
CREATE FUNCTION raise_visibility() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
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
  UPDATE organizations SET sight_version = sight_version + 1 WHERE id = ANY (changed);
  PERFORM pg_notify('fieldline', json_build_object('kind', 'sight', 'organizationId', id)::text)
    FROM unnest(changed) id;
  RETURN NULL;
END $$;

DO $$
DECLARE
  watched record;
BEGIN
  FOR watched IN
    SELECT * FROM (VALUES
      ('users', '''name'', ''role_id'', ''status'''),
      ('roles', '''permission_details'''),
      ('devices', '''name'', ''hub_id'', ''deleted_at'''),
      ('user_hubs', NULL),
      ('team_users', NULL)) AS list (name, columns)
  LOOP
    EXECUTE format('CREATE TRIGGER raise_visibility_insert AFTER INSERT ON %I REFERENCING NEW TABLE AS new_rows
      FOR EACH STATEMENT EXECUTE FUNCTION raise_visibility()', watched.name);
    EXECUTE format('CREATE TRIGGER raise_visibility_delete AFTER DELETE ON %I REFERENCING OLD TABLE AS old_rows
      FOR EACH STATEMENT EXECUTE FUNCTION raise_visibility()', watched.name);
    IF watched.columns IS NOT NULL THEN
      EXECUTE format('CREATE TRIGGER raise_visibility_update AFTER UPDATE ON %I
        REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
        FOR EACH STATEMENT EXECUTE FUNCTION raise_visibility(%s)', watched.name, watched.columns);
    END IF;
  END LOOP;
END $$;
