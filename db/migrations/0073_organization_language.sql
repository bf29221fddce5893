-- Null means that nobody has set a language: the console then follows each browser. Until now the default was 'en',
-- which cannot be distinguished from a chosen English; choosing it again sets it.
ALTER TABLE organizations ALTER COLUMN language DROP NOT NULL, ALTER COLUMN language DROP DEFAULT;
UPDATE organizations SET language = NULL WHERE language = 'en';
