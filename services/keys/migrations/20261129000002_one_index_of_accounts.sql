-- no-transaction
-- Its place is taken by keys_by_account.
DROP INDEX CONCURRENTLY IF EXISTS keys_of_account;
