-- Balances. An account without a row has a balance of 0.
CREATE TABLE accounts (
    account_id text PRIMARY KEY CHECK (char_length(account_id) BETWEEN 1 AND 128),
    -- The sum of the account's ledger entries.
    balance bigint NOT NULL CHECK (balance BETWEEN 0 AND 1000000000000000)
);

-- Every movement of credits, for good. A charge is its entry: there is no second record of it to disagree.
CREATE TABLE ledger_entries (
    -- Of one account they grow with time: numbers are drawn while the account's row is locked.
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id text NOT NULL CHECK (char_length(account_id) BETWEEN 1 AND 128),
    -- Given (above 0) or taken (below 0; 0 for what costs nothing).
    amount bigint NOT NULL,
    -- Balance after it.
    balance bigint NOT NULL CHECK (balance BETWEEN 0 AND 1000000000000000),
    created_at timestamptz NOT NULL,
    grant_id text CHECK (char_length(grant_id) BETWEEN 1 AND 128),
    charge_id uuid,
    -- What a charge paid for: 1 a search for people, 2 a search for companies.
    operation smallint CHECK (operation IN (1, 2)),
    CONSTRAINT one_cause CHECK (
        (grant_id IS NOT NULL AND amount > 0 AND charge_id IS NULL AND operation IS NULL)
        OR (grant_id IS NULL AND amount <= 0 AND charge_id IS NOT NULL AND operation IS NOT NULL)
    ),
    -- A grant is given once, a charge taken once.
    CONSTRAINT ledger_grant UNIQUE (account_id, grant_id),
    CONSTRAINT ledger_charge UNIQUE (charge_id)
);

-- The ledger of an account, newest first.
CREATE INDEX ledger_of_account ON ledger_entries (account_id, id DESC);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END
$$;

CREATE TRIGGER ledger_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_entries
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Which idempotency keys stand for which charge. A binding counts for a time (a setting) and is removed some time after.
CREATE TABLE idempotency_bindings (
    account_id text NOT NULL,
    operation smallint NOT NULL,
    key text NOT NULL CHECK (octet_length(key) BETWEEN 1 AND 255),
    -- SHA-256 of what was asked for.
    fingerprint bytea NOT NULL CHECK (octet_length(fingerprint) = 32),
    -- Credits taken the first time.
    cost bigint NOT NULL CHECK (cost >= 0),
    bound_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, operation, key)
);

-- The oldest bindings, to remove them.
CREATE INDEX bindings_by_age ON idempotency_bindings (bound_at);
