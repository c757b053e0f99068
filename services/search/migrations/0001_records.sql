-- The records, who has revealed what, and the feed of changes that the index follows.
--
-- Ids of the source compare by their bytes (COLLATE "C"): every writer takes its row locks in the order of
-- `external_id`, and means the same order by it as Postgres does.

CREATE TABLE companies (
    id              uuid PRIMARY KEY,
    external_id     text COLLATE "C" NOT NULL CHECK (char_length(external_id) BETWEEN 1 AND 200),
    name            text NOT NULL CHECK (btrim(name) <> '' AND char_length(name) <= 500),
    domain          text CHECK (domain <> ''),
    website         text CHECK (website <> ''),
    business_types  text[] NOT NULL CHECK (cardinality(business_types) <= 50),
    description     text CHECK (description <> '' AND char_length(description) <= 10000),
    tags            text[] NOT NULL CHECK (cardinality(tags) <= 100),
    business_email  text CHECK (business_email <> ''),
    business_phone  text CHECK (business_phone <> ''),
    city            text CHECK (city <> ''),
    region          text CHECK (region <> ''),
    country         text CHECK (country ~ '^[A-Z]{2}$'),
    employee_count  bigint CHECK (employee_count >= 0),
    -- Either the day, or only the year.
    founded_on      date,
    founded_year    integer,
    info_updated_at timestamptz NOT NULL,
    CONSTRAINT companies_external_id_key UNIQUE (external_id),
    CONSTRAINT companies_founded_once CHECK (num_nonnulls(founded_on, founded_year) <= 1)
);

CREATE TABLE people (
    id                  uuid PRIMARY KEY,
    external_id         text COLLATE "C" NOT NULL CHECK (char_length(external_id) BETWEEN 1 AND 200),
    -- No foreign key: people may be imported before their company, and outlive it.
    company_external_id text COLLATE "C" CHECK (char_length(company_external_id) BETWEEN 1 AND 200),
    full_name           text NOT NULL CHECK (btrim(full_name) <> ''),
    first_name          text CHECK (first_name <> ''),
    last_name           text CHECK (last_name <> ''),
    job_title           text CHECK (job_title <> ''),
    email               text CHECK (email <> ''),
    city                text CHECK (city <> ''),
    region              text CHECK (region <> ''),
    country             text CHECK (country ~ '^[A-Z]{2}$'),
    info_updated_at     timestamptz NOT NULL,
    CONSTRAINT people_external_id_key UNIQUE (external_id)
);

CREATE INDEX people_company_external_id_idx ON people (company_external_id)
    WHERE company_external_id IS NOT NULL;

CREATE TABLE reveals (
    account_id  text NOT NULL CHECK (char_length(account_id) BETWEEN 1 AND 128),
    person_id   uuid NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    revealed_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, person_id)
);

-- For the cascade.
CREATE INDEX reveals_person_id_idx ON reveals (person_id);

-- What has changed, in the order of the commits: see `store/changes.rs`. `seq` must not be cached by sessions, which
-- is the default.
CREATE TABLE changes (
    seq        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind       text NOT NULL CHECK (kind IN ('company', 'person')),
    record_id  uuid NOT NULL,
    -- External ids. A company's change: its own. A person's: those of the companies before and after.
    companies  text[] NOT NULL,
    changed_at timestamptz NOT NULL
);

-- One row about the feed as a whole.
CREATE TABLE feed (
    only_row  boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    -- Tells this feed's positions from those of another database.
    id        uuid NOT NULL DEFAULT gen_random_uuid(),
    -- Changes up to this one have been dropped.
    pruned_to bigint NOT NULL DEFAULT 0 CHECK (pruned_to >= 0)
);

INSERT INTO feed DEFAULT VALUES;
