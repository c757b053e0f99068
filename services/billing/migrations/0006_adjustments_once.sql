-- no-transaction
-- An adjustment is made once.
CREATE UNIQUE INDEX CONCURRENTLY ledger_adjustment_once ON ledger_entries (account_id, adjustment_id)
    WHERE adjustment_id IS NOT NULL;
