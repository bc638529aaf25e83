-- What a machine was ordered at, beside the price of an hour of its type: null = unknown, never free. Without a price of the month
-- every hour is charged.
ALTER TABLE machines ADD COLUMN price_month_micro_eur INTEGER;
ALTER TABLE machines ADD COLUMN ipv4_micro_eur INTEGER;
ALTER TABLE machines ADD COLUMN ipv4_month_micro_eur INTEGER;
-- Who says nothing gets an IPv4 address.
ALTER TABLE machines ADD COLUMN has_ipv4 INTEGER NOT NULL DEFAULT 1 CHECK (has_ipv4 IN (0, 1));
UPDATE machines SET has_ipv4 = 0 WHERE provider_id IS NOT NULL AND public_ipv4 = '';
