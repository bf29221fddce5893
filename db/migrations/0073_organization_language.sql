-- Null is a language that nobody has set: the console then goes by each browser. Until now that was 'en', and so was English
-- that somebody chose; choosing it again sets it.
ALTER TABLE organizations ALTER COLUMN language DROP NOT NULL, ALTER COLUMN language DROP DEFAULT;
UPDATE organizations SET language = NULL WHERE language = 'en';
