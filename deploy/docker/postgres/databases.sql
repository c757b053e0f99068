-- Run once, by the Postgres image, on a new cluster: a database for each service, with two roles of its own. The one of
-- the same name owns the database and migrates it; the other one serves, and may do what the migration grants it.
\getenv search_owner_password SEARCH_OWNER_PASSWORD
\getenv search_server_password SEARCH_SERVER_PASSWORD
\getenv keys_owner_password KEYS_OWNER_PASSWORD
\getenv keys_server_password KEYS_SERVER_PASSWORD
\getenv billing_owner_password BILLING_OWNER_PASSWORD
\getenv billing_server_password BILLING_SERVER_PASSWORD

CREATE ROLE search LOGIN PASSWORD :'search_owner_password';
CREATE ROLE search_server LOGIN PASSWORD :'search_server_password';
CREATE ROLE keys LOGIN PASSWORD :'keys_owner_password';
CREATE ROLE keys_server LOGIN PASSWORD :'keys_server_password';
CREATE ROLE billing LOGIN PASSWORD :'billing_owner_password';
CREATE ROLE billing_server LOGIN PASSWORD :'billing_server_password';

CREATE DATABASE search OWNER search TEMPLATE template0;
CREATE DATABASE keys OWNER keys TEMPLATE template0;
CREATE DATABASE billing OWNER billing TEMPLATE template0;

REVOKE ALL ON DATABASE postgres, template1, search, keys, billing FROM PUBLIC;
GRANT CONNECT ON DATABASE search TO search_server;
GRANT CONNECT ON DATABASE keys TO keys_server;
GRANT CONNECT ON DATABASE billing TO billing_server;
