# Read by the first start of Postgres: each service's database with its two roles, the one that owns it and migrates, and
# the one that serves. Passwords go neither through the process list nor into a log.
for service in search keys billing; do
    psql --username postgres --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --set=owner="$service" --set=server="${service}_server" <<SQL
\set owner_password \`cat /etc/postgres/$service\`
\set server_password \`cat /etc/postgres/${service}_server\`
CREATE ROLE :"owner" LOGIN PASSWORD :'owner_password';
CREATE ROLE :"server" LOGIN PASSWORD :'server_password';
CREATE DATABASE :"owner" OWNER :"owner" TEMPLATE template0;
REVOKE ALL ON DATABASE :"owner" FROM PUBLIC;
GRANT CONNECT ON DATABASE :"owner" TO :"server";
SQL
done
