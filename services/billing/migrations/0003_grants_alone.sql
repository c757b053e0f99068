-- no-transaction
-- A grant is given once. Charges, nearly all of the ledger, have no place in this index.
CREATE UNIQUE INDEX CONCURRENTLY ledger_grant_once ON ledger_entries (account_id, grant_id)
    WHERE grant_id IS NOT NULL;
