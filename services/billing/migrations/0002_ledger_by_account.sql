-- no-transaction
-- An entry is found by its account and its number, from the oldest or from the newest. Built beside the charges that go
-- on; should it be cut off, an invalid index is left: drop it, and migrate again.
CREATE UNIQUE INDEX CONCURRENTLY ledger_by_account ON ledger_entries (account_id, id);
