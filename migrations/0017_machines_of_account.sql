-- How many live machines an account has, asked before each create.
CREATE INDEX machines_by_live_account ON machines (account) WHERE phase IN ('requested', 'active', 'destroying');
