-- The archive of the basemap that the server's first organization has chosen in the console. Null, and that of every other
-- organization, says nothing.
ALTER TABLE organizations ADD COLUMN basemap_url text;
