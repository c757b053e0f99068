-- What the index knows a company by: small numbers, one after the other, so that a set of companies is a set of bits.
ALTER TABLE companies
    ADD COLUMN number bigint GENERATED ALWAYS AS IDENTITY CHECK (number > 0);
