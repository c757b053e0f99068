-- no-transaction
-- The list of an account, in its order but for keys of one moment. Without `id` in it: a key that is looked up by its id
-- would otherwise be looked for in all of this index.
CREATE INDEX CONCURRENTLY IF NOT EXISTS keys_by_account ON keys (account_id, created_at DESC);
