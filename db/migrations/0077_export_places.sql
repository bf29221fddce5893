-- How an export writes places into a spreadsheet: each as text in one cell, or in columns of latitude, longitude and
-- address.
ALTER TABLE export_logs ADD COLUMN places text NOT NULL DEFAULT 'text' CHECK (places IN ('text', 'columns'));
