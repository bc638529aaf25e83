-- Its owner's own labels of a firewall, a network or a key, as a JSON object of texts. Beside the spec and not in it: what a key is its bytes
-- alone say, whoever calls it what.
ALTER TABLE resources ADD COLUMN labels TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(labels));
