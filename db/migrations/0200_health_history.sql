-- How the server was doing. Every process reports its figures once a minute, and one job at a time adds the reports to
-- samples: of each minute for a day, of each hour for a month, of each day for a year. That is about 2,600 rows.

CREATE TABLE health_reports (
  at timestamptz NOT NULL,
  process_id uuid NOT NULL,
  figures jsonb NOT NULL,
  PRIMARY KEY (at, process_id)
);

CREATE TABLE health_samples (
  resolution text NOT NULL CHECK (resolution IN ('minute', 'hour', 'day')),
  at timestamptz NOT NULL,
  figures jsonb NOT NULL,
  PRIMARY KEY (resolution, at)
);
