-- Refunds and adjustments, which name the entry that they correct. What the version before reads and writes stays as it
-- is. Nothing here reads the ledger: its entries are held against the new rules by a later migration, while charges go on.
SET LOCAL lock_timeout = '5s';

ALTER TABLE ledger_entries
    DROP CONSTRAINT ledger_entries_pkey,
    ADD CONSTRAINT ledger_by_account PRIMARY KEY USING INDEX ledger_by_account,
    DROP CONSTRAINT ledger_grant,
    -- Number of the entry that is corrected, of the same account.
    ADD COLUMN corrects bigint,
    -- Of an adjustment; a correction without it is a refund.
    ADD COLUMN adjustment_id text,
    ADD CONSTRAINT adjustment_id_length CHECK (char_length(adjustment_id) BETWEEN 1 AND 128) NOT VALID,
    ADD CONSTRAINT ledger_correction FOREIGN KEY (account_id, corrects)
        REFERENCES ledger_entries (account_id, id) NOT VALID,
    -- No amount is larger than a balance can be, so that no sum of two overflows.
    ADD CONSTRAINT amount_within_balance CHECK (amount BETWEEN -1000000000000000 AND 1000000000000000) NOT VALID,
    DROP CONSTRAINT one_cause,
    ADD CONSTRAINT one_cause CHECK (
        (grant_id IS NOT NULL AND amount > 0
            AND num_nonnulls(charge_id, operation, corrects, adjustment_id) = 0)
        OR (charge_id IS NOT NULL AND operation IS NOT NULL AND amount <= 0
            AND num_nonnulls(grant_id, corrects, adjustment_id) = 0)
        OR (corrects IS NOT NULL AND (amount > 0 OR (amount < 0 AND adjustment_id IS NOT NULL))
            AND num_nonnulls(grant_id, charge_id, operation) = 0)
    ) NOT VALID;

-- Its place is taken by the primary key.
DROP INDEX ledger_of_account;

CREATE FUNCTION check_refund() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM ledger_entries AS charge
        WHERE charge.account_id = NEW.account_id AND charge.id = NEW.corrects
            AND charge.charge_id IS NOT NULL AND charge.amount = -NEW.amount
    ) THEN
        RAISE EXCEPTION 'a refund gives back what one charge has taken'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'refund_of_charge';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER refund_of_charge BEFORE INSERT ON ledger_entries
    FOR EACH ROW WHEN (NEW.corrects IS NOT NULL AND NEW.adjustment_id IS NULL) EXECUTE FUNCTION check_refund();
