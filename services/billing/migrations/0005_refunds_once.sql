-- no-transaction
-- A charge is given back once.
CREATE UNIQUE INDEX CONCURRENTLY ledger_refund_once ON ledger_entries (account_id, corrects)
    WHERE corrects IS NOT NULL AND adjustment_id IS NULL;
