-- The records of the sample company are marked as the other samples are.
ALTER TABLE hubs ADD COLUMN is_sample boolean NOT NULL DEFAULT false;
ALTER TABLE users ADD COLUMN is_sample boolean NOT NULL DEFAULT false;
ALTER TABLE teams ADD COLUMN is_sample boolean NOT NULL DEFAULT false;
ALTER TABLE devices ADD COLUMN is_sample boolean NOT NULL DEFAULT false;
ALTER TABLE geofences ADD COLUMN is_sample boolean NOT NULL DEFAULT false;
ALTER TABLE flows ADD COLUMN is_sample boolean NOT NULL DEFAULT false;
ALTER TABLE tracking_links ADD COLUMN is_sample boolean NOT NULL DEFAULT false;
-- Its records are samples as well.
ALTER TABLE imports ADD COLUMN is_sample boolean NOT NULL DEFAULT false;
