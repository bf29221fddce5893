-- A vehicle's capacity, working hours, and limits for a route planner. Its device is in `mounts`.
ALTER TABLE vehicles
  ADD COLUMN plate text,
  -- { weight, volume, units } in kg, m³ and pieces; null means not known.
  ADD COLUMN capacity jsonb NOT NULL DEFAULT '{"weight": null, "volume": null, "units": null}',
  -- Metres per second.
  ADD COLUMN speed double precision CHECK (speed > 0),
  -- [{ weekday, from, to }], in the organization's time zone.
  ADD COLUMN working_hours jsonb NOT NULL DEFAULT '[]',
  ADD COLUMN tags text[] NOT NULL DEFAULT '{}',
  -- { maxDistance, maxDuration, maxStops, skills } in metres and seconds.
  ADD COLUMN constraints jsonb NOT NULL
    DEFAULT '{"maxDistance": null, "maxDuration": null, "maxStops": null, "skills": []}',
  ADD COLUMN driver_id uuid,
  ADD FOREIGN KEY (organization_id, driver_id) REFERENCES users (organization_id, id) ON DELETE SET NULL (driver_id);
CREATE INDEX vehicles_organization ON vehicles (organization_id, lower(name), id);
CREATE INDEX vehicles_driver ON vehicles (driver_id);
