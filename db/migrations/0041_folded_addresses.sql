-- E-mail addresses are compared by db/email-address.ts. The locale's lower() treated different letters as equal, such
-- as `İ` and `i`, and failed sign-ins were counted for each spelling separately.
DROP INDEX accounts_email;
CREATE UNIQUE INDEX accounts_email ON accounts (lower(email COLLATE "C"));
