-- Unique e-mail addresses are compared in another form than other texts, so they are entered under a name of their own
-- (db/unique-value.ts), and a field can change from one form to the other in steps.
UPDATE data_keys k SET field = k.field || '@'
FROM data_types t CROSS JOIN LATERAL jsonb_array_elements(t.fields) f
WHERE t.organization_id = k.organization_id AND t.id = k.data_type_id AND f ->> 'key' = k.field AND f ->> 'type' = 'email';
