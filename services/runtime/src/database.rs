//! A service's Postgres database: connections and migrations.
//!
//! Migrations are embedded in the binary, forward-only, and run by `migrate`; `serve` refuses to start while some are
//! pending. Replicas may migrate together: they take turns by an advisory lock that is tried, not waited for, since
//! waiting inside a statement would stop a `CREATE INDEX CONCURRENTLY` of the one that holds it.
//!
//! Two roles, so that what serves can do no more than it has to: the one that migrates owns the tables; the one that
//! serves, named to `migrate`, is given the rights that the service lists, and owns nothing. Rights are only added, since
//! the version before may still be serving. Roles and databases are the administrator's to make.

use std::time::Duration;

use sqlx::migrate::{Migrate as _, Migrator};
use sqlx::postgres::{PgConnectOptions, PgConnection, PgDatabaseError, PgPool, PgPoolOptions, PgSeverity};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};

use crate::process::with_causes;
use crate::readiness::Condition;
use crate::secret::Secret;
use crate::settings::Settings;
use crate::shutdown::Shutdown;
use crate::statement::{self, Statement as _};

/// What a service asks of its database.
#[derive(Debug)]
pub struct Schema {
    /// Its form.
    pub migrator: Migrator,
    /// What the role that serves may do, as `GRANT` has it: `SELECT, INSERT ON table`.
    pub rights: &'static [&'static str],
    /// Tables that the role that serves must be able to add to only: it is not let in if it could change or remove what
    /// is there.
    pub append_only: &'static [&'static str],
}

/// Settings of a service's database.
#[derive(Debug)]
pub struct DatabaseConfig {
    url: Secret,
    serving_role: Option<String>,
    max_connections: u32,
    acquire_timeout: Duration,
    statement_timeout: Duration,
}

/// Why a database can't be used.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The address is none.
    #[error(
        "database_url: is no Postgres address, such as postgres://user:password@host:5432/name, or \
         postgres://...?sslmode=verify-full by TLS"
    )]
    Url,
    /// Something stands behind the address that nobody would heed. It is not told what, since that may be part of a password.
    #[error(
        "database_url: has a parameter behind the ? that is none of {}; a ? in a password is written %3F",
        PARAMETERS.join(", ")
    )]
    Parameter,
    /// A file that the address names can't be read.
    #[error("database_url: {parameter}: {path} can't be read: {error}")]
    File {
        /// What the file is for.
        parameter: &'static str,
        /// Where it should be.
        path: String,
        /// Why not.
        error: std::io::Error,
    },
    /// It can't be reached, or refuses.
    #[error("the database can't be used")]
    Database(#[from] sqlx::Error),
    /// It does not answer.
    #[error("the database has not answered within {0:?}")]
    Silent(Duration),
    /// A migration failed.
    #[error("the database can't be migrated")]
    Migrate(#[from] sqlx::migrate::MigrateError),
    /// Migrations are pending, or the database is of a later version.
    #[error("the database is not of this version's form ({0}): run `migrate` first")]
    Pending(String),
    /// The role that is to serve could change what it must only add to.
    #[error(
        "the role of database_url may change what is in {0}, which is to be added to alone: serve as a role that does \
         not own it, and name that to `migrate` by database_serving_role"
    )]
    MayRewrite(&'static str),
    /// Another process has been migrating for too long.
    #[error("another process has held the migration lock for {0:?}")]
    Locked(Duration),
}

impl DatabaseError {
    /// Whether waiting may help: it does not against a wrong password or name.
    fn may_pass(&self) -> bool {
        match self {
            Self::Silent(_) => true,
            Self::Database(error) => {
                let is_denial = sqlstate(error).is_some_and(|code| code.starts_with("28") || code == "3D000");
                is_passing(error) && !is_denial
            }
            _ => false,
        }
    }
}

/// What may stand behind the address of a database: all that the library heeds.
const PARAMETERS: [&str; 18] = [
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "application_name",
    "options",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "statement-cache-capacity",
    // The library's own ways to write the first ones.
    "ssl-mode",
    "ssl-root-cert",
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
];

/// Those of them that name files.
const FILES: [&str; 7] = [
    "sslrootcert",
    "ssl-root-cert",
    "ssl-ca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
];

/// Longest wait for another process's migration.
const LOCK_PATIENCE: Duration = Duration::from_mins(10);

/// Pause between two questions whether the database answers, and the longest wait for its answer.
const WATCH: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(2));

/// From so long without use on, a connection is asked whether it answers before it is used.
const ASKED_AFTER: Duration = Duration::from_secs(1);

/// The advisory lock of migrations; a database is one service's own, so that one number serves all.
const LOCK: i64 = 0x6d69_6772_6174_6531;

impl DatabaseConfig {
    /// Reads `database_url`, `database_serving_role`, `database_max_connections`, `database_acquire_timeout`,
    /// `database_statement_timeout`.
    pub fn read(settings: &mut Settings) -> Self {
        let url = settings.secret(
            "database_url",
            1,
            "Postgres database: postgres://user:password@host:5432/name, with ?sslmode=verify-full behind it by TLS. To \
             migrate, as the role that owns its tables.",
        );
        // One that is missing has been told.
        if let Err(error) = connect_options(&url)
            && !url.expose().is_empty()
        {
            settings.contradiction(error.to_string());
        }
        Self {
            url,
            serving_role: settings.optional(
                "database_serving_role",
                "Role that `serve` will use, if not the one that migrates: `migrate` gives it the rights it needs.",
            ),
            max_connections: settings.bounded(
                "database_max_connections",
                10_u32,
                1..=1_000,
                "Most connections to the database at once.",
            ),
            acquire_timeout: settings.value(
                "database_acquire_timeout",
                Duration::from_secs(3),
                "Longest wait for a connection.",
            ),
            statement_timeout: settings.value(
                "database_statement_timeout",
                Duration::from_secs(30),
                "Longest time that a statement may take.",
            ),
        }
    }

    /// Connections to the database, whose form is that of this schema. While it is away this waits, so that a service
    /// may start before its database; one of another form, or that does not let us in or lets us do too much, is refused.
    pub async fn open(&self, schema: &Schema) -> Result<PgPool, DatabaseError> {
        let (pause, patience) = WATCH;
        loop {
            let checked = tokio::time::timeout(patience, self.check(schema)).await;
            match checked.unwrap_or_else(|_| Err(DatabaseError::Silent(patience))) {
                Ok(()) => return self.pool(),
                Err(error) if error.may_pass() => {
                    tracing::warn!(error = with_causes(&error), "waiting for the database");
                }
                Err(error) => return Err(error),
            }
            tokio::time::sleep(pause).await;
        }
    }

    async fn check(&self, schema: &Schema) -> Result<(), DatabaseError> {
        let mut connection = PgConnection::connect_with(&self.options()?).await?;
        check_migrated(&mut connection, &schema.migrator).await?;
        for table in schema.append_only {
            if may_rewrite(&mut connection, table).await? {
                return Err(DatabaseError::MayRewrite(table));
            }
        }
        connection.close().await?;
        Ok(())
    }

    /// A pool of connections; each is made when it is needed.
    fn pool(&self) -> Result<PgPool, DatabaseError> {
        let timeout = self.statement_timeout.as_millis().to_string();
        let options = self.options()?.options([
            ("statement_timeout", timeout.as_str()),
            ("idle_in_transaction_session_timeout", "10s"),
            ("lock_timeout", "10s"),
            // A connection keeps its plans, and one that was made while a table was small stays when it is large, until
            // somebody analyses the table: going through a small table looks best. So that is discouraged, and statements
            // leave no other way through a large one than by the values of an index: `= ANY`, and subqueries with `LIMIT`
            // for each row, where a join might go through a whole index. (`tests/tests/faults/growth.rs`)
            ("enable_seqscan", "off"),
            // What is discouraged looks dear enough to be compiled, which takes longer than any statement here.
            ("jit", "off"),
        ]);
        statement::describe(&options);
        Ok(PgPoolOptions::new()
            .max_connections(self.max_connections)
            .acquire_timeout(self.acquire_timeout)
            // One that answered a moment ago is there, as far as anybody can know; to ask it would cost a round trip. Where the
            // database has just ended it, a statement that it is taken for fails, as what was under way on it did; a transaction
            // begins on another. After that the others are asked.
            .test_before_acquire(false)
            .before_acquire(|connection, used| {
                Box::pin(async move {
                    if used.idle_for >= ASKED_AFTER || statement::may_be_lost(used.idle_for) {
                        connection.ping().await.inspect_err(statement::note_loss)?;
                    }
                    Ok(true)
                })
            })
            .connect_lazy_with(options))
    }

    fn options(&self) -> Result<PgConnectOptions, DatabaseError> {
        // Statements are not logged: they would tell what is searched for.
        Ok(connect_options(&self.url)?.disable_statement_logging())
    }

    /// Brings the database to the form of this schema, and gives the role that serves its rights.
    pub async fn migrate(&self, mut schema: Schema) -> Result<(), DatabaseError> {
        let mut connection = PgConnection::connect_with(&self.options()?).await?;
        take_turn(&mut connection).await?;
        schema.migrator.set_locking(false).set_ignore_missing(true);
        schema.migrator.run_direct(None, &mut connection, false).await?;
        if let Some(role) = &self.serving_role {
            // To see that it is of this form.
            let migrations = format!("SELECT ON {}", schema.migrator.table_name);
            let mut rights = vec![migrations];
            rights.extend(schema.rights.iter().map(ToString::to_string));
            grant(&mut connection, &rights, role).await?;
        }
        // Closing the session gives the lock back.
        connection.close().await?;
        Ok(())
    }

    /// Keeps the condition true to whether the database answers, until the process drains.
    ///
    /// It asks over a connection of its own, so that a pool which is merely busy makes no process unready.
    pub async fn watch(self, condition: Condition, shutdown: Shutdown) {
        let (pause, patience) = WATCH;
        let mut connection = None;
        loop {
            let answers = tokio::time::timeout(patience, self.ping(connection.take())).await;
            connection = answers.ok().and_then(Result::ok);
            condition.set(connection.is_some());
            if tokio::time::timeout(pause, shutdown.draining()).await.is_ok() {
                return;
            }
        }
    }

    async fn ping(&self, connection: Option<PgConnection>) -> Result<PgConnection, DatabaseError> {
        let mut connection = match connection {
            Some(connection) => connection,
            None => PgConnection::connect_with(&self.options()?).await?,
        };
        connection.ping().await?;
        Ok(connection)
    }
}

/// What an address says. What the library says of a bad one may hold the password; of parameters that it does not know it
/// only warns.
fn connect_options(url: &Secret) -> Result<PgConnectOptions, DatabaseError> {
    // The library takes any scheme for its own.
    let is_postgres = ["postgres://", "postgresql://"]
        .iter()
        .any(|scheme| url.expose().starts_with(scheme));
    if !is_postgres {
        return Err(DatabaseError::Url);
    }
    let (_, parameters) = url.expose().split_once('?').unwrap_or_default();
    for (name, value) in form_urlencoded::parse(parameters.as_bytes()) {
        let known = PARAMETERS.into_iter().find(|known| *known == name);
        let parameter = known.ok_or(DatabaseError::Parameter)?;
        // The library looks for it when it connects, and a file that is missing would be waited for like a database.
        if FILES.contains(&parameter)
            && let Err(error) = std::fs::File::open(&*value)
        {
            let path = value.into_owned();
            return Err(DatabaseError::File {
                parameter,
                path,
                error,
            });
        }
    }
    url.expose().parse().map_err(|_| DatabaseError::Url)
}

/// Lets a transaction's statements go through whole tables, which connections of a pool are discouraged from.
pub async fn go_through_tables(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::query("SET LOCAL enable_seqscan = on")
        .execute(connection)
        .told("SET enable_seqscan")
        .await?;
    Ok(())
}

async fn take_turn(connection: &mut PgConnection) -> Result<(), DatabaseError> {
    let mut waited = Duration::ZERO;
    let pause = Duration::from_millis(200);
    loop {
        let taken: bool = sqlx::query_scalar("SELECT pg_try_advisory_lock($1)")
            .bind(LOCK)
            .fetch_one(&mut *connection)
            .await?;
        if taken {
            return Ok(());
        }
        if waited >= LOCK_PATIENCE {
            return Err(DatabaseError::Locked(waited));
        }
        tokio::time::sleep(pause).await;
        waited += pause;
    }
}

/// Gives the role these rights, all at once.
async fn grant(connection: &mut PgConnection, rights: &[String], role: &str) -> Result<(), sqlx::Error> {
    let role = format!("\"{}\"", role.replace('"', "\"\""));
    let mut transaction = connection.begin().await?;
    for right in rights {
        let statement = format!("GRANT {right} TO {role}");
        sqlx::query(AssertSqlSafe(statement))
            .execute(&mut *transaction)
            .await?;
    }
    transaction.commit().await
}

/// Whether we could change or remove what is in the table. Who owns it, or may act as its owner, can give themselves any
/// right.
async fn may_rewrite(connection: &mut PgConnection, table: &str) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT has_table_privilege(oid, 'UPDATE, DELETE, TRUNCATE') OR has_any_column_privilege(oid, 'UPDATE')
             OR pg_has_role(relowner, 'MEMBER')
         FROM pg_class WHERE oid = to_regclass($1)",
    )
    .bind(table)
    .fetch_one(connection)
    .await
}

/// Refuses a database on which migrations are pending, or that a later version has migrated beyond recognition:
/// migrations it has and we don't are fine, since they are made to be (expand, then contract).
async fn check_migrated(connection: &mut PgConnection, migrator: &Migrator) -> Result<(), DatabaseError> {
    let table = migrator.table_name.clone();
    let exists: bool = sqlx::query_scalar("SELECT to_regclass($1) IS NOT NULL")
        .bind(table.as_ref())
        .fetch_one(&mut *connection)
        .await?;
    let applied = if exists {
        connection.list_applied_migrations(&table).await?
    } else {
        Vec::new()
    };
    for migration in migrator
        .iter()
        .filter(|migration| migration.migration_type.is_up_migration())
    {
        match applied
            .iter()
            .find(|applied| applied.version == migration.version)
        {
            None => {
                return Err(DatabaseError::Pending(format!(
                    "{} is pending",
                    migration.version
                )));
            }
            Some(applied) if applied.checksum != migration.checksum => {
                return Err(DatabaseError::Pending(format!(
                    "{} is another one there",
                    migration.version
                )));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Whether the same may go well later: the database is away, busy or restarting, or others were in the way. Else it
/// has refused what it was asked, or answered what it can't.
#[must_use]
pub fn is_passing(error: &sqlx::Error) -> bool {
    // Connections (08), transactions in each other's way (40, 55P03), resources (53), statements and servers that were
    // stopped (57), a server that may not write since a failover (25006).
    let is_busy = || {
        sqlstate(error).is_some_and(|code| {
            ["25006", "55P03"].contains(&code)
                || ["08", "40", "53", "57"]
                    .iter()
                    .any(|class| code.starts_with(class))
        })
    };
    is_lost_connection(error)
        || matches!(error, sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed)
        || is_busy()
}

/// Whether the connection is lost, or could not be made.
pub(crate) fn is_lost_connection(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => {
            true
        }
        sqlx::Error::Database(told) => told
            .try_downcast_ref::<PgDatabaseError>()
            .is_some_and(|error| matches!(error.severity(), PgSeverity::Fatal | PgSeverity::Panic)),
        _ => false,
    }
}

/// `SQLSTATE` of the error, if Postgres told it.
#[must_use]
pub fn sqlstate(error: &sqlx::Error) -> Option<&str> {
    let told = error.as_database_error()?;
    told.try_downcast_ref::<PgDatabaseError>()
        .map(PgDatabaseError::code)
}
