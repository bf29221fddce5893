-- Addresses are compared by db/email-address.ts. The locale's lower() took letters for equal that are not, `İ` and `i`
-- among them, and failed sign-ins were counted for each spelling apart.
DROP INDEX accounts_email;
CREATE UNIQUE INDEX accounts_email ON accounts (lower(email COLLATE "C"));
