-- What was written before the rules meets them too. Charges go on meanwhile.
ALTER TABLE ledger_entries VALIDATE CONSTRAINT one_cause;
ALTER TABLE ledger_entries VALIDATE CONSTRAINT amount_within_balance;
ALTER TABLE ledger_entries VALIDATE CONSTRAINT adjustment_id_length;
ALTER TABLE ledger_entries VALIDATE CONSTRAINT ledger_correction;
