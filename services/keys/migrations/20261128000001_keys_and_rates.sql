-- A key outlives its secret: regeneration gives the row another one, revocation leaves the row for the list.
CREATE TABLE keys (
    -- UUIDv7.
    id uuid PRIMARY KEY,
    account_id text NOT NULL CHECK (char_length(account_id) BETWEEN 1 AND 128),
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
    -- What may be shown of the secret.
    key_prefix text NOT NULL CHECK (key_prefix ~ '^dsk_[0-9A-Za-z]{8}$'),
    -- HMAC-SHA-256 of the secret; what is verified is looked up by it.
    secret_hash bytea NOT NULL UNIQUE CHECK (octet_length(secret_hash) = 32),
    -- Which pepper the hash was made with: tells when a previous one is out of use.
    pepper_id text NOT NULL CHECK (pepper_id ~ '^[0-9a-f]{8}$'),
    -- Counts the secrets that the key has had before, so that a use of one is not noted on its successor.
    generation integer NOT NULL DEFAULT 0 CHECK (generation >= 0),
    created_at timestamptz NOT NULL,
    -- When the present secret was last used.
    last_used_at timestamptz,
    revoked_at timestamptz CHECK (revoked_at >= created_at)
);

-- The list of an account, in its order; the count of its active keys.
CREATE INDEX keys_of_account ON keys (account_id, created_at DESC, id DESC);

-- The accounts that have a rate of their own.
CREATE TABLE rates (
    account_id text PRIMARY KEY CHECK (char_length(account_id) BETWEEN 1 AND 128),
    requests integer NOT NULL CHECK (requests BETWEEN 1 AND 1000000),
    window_ms integer NOT NULL CHECK (window_ms BETWEEN 1000 AND 86400000)
);
