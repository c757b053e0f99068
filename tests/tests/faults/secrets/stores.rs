//! Passwords of Postgres and Redis are changed.

use std::process::Command;

use devstack::{Options, Part, Service};
use redis::Connection;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};
use system_tests::{World, program, until};

use crate::fleet::{Fleet, NEW, SERVICES, setting};

/// Roles of a service's database.
struct Database {
    service: Service,
    name: String,
    /// Who serves, before and after.
    old: String,
    new: String,
    /// As the cluster's administrator.
    administrator: String,
}

impl Database {
    fn of(world: &World, service: Service) -> Self {
        let environment = &world.environment;
        let url = match service {
            Service::Search => &environment.database_url_search,
            Service::Keys => &environment.database_url_keys,
            Service::Billing => &environment.database_url_billing,
            Service::Gateway => panic!("it has none"),
        };
        let url: reqwest::Url = url.parse().unwrap();
        let mut administrator: reqwest::Url = world.stack.cluster_url().unwrap().parse().unwrap();
        administrator.set_path(url.path());
        Self {
            service,
            name: url.path().trim_start_matches('/').to_owned(),
            old: url.username().to_owned(),
            new: format!("{}_next", url.username()),
            administrator: administrator.into(),
        }
    }

    fn administrate(&self, world: &World, sql: String) {
        world.operator.block_on(async {
            let mut connection = PgConnection::connect(&self.administrator).await.unwrap();
            connection.execute(AssertSqlSafe(sql)).await.unwrap();
        });
    }

    /// Its address for a role with the new password.
    fn url(&self, role: &str) -> String {
        let mut url: reqwest::Url = self.administrator.parse().unwrap();
        url.set_username(role).unwrap();
        url.set_password(Some(NEW)).unwrap();
        url.into()
    }

    /// Gives the role that is to serve its rights, as the owner with a password that is new too: nobody serves as it.
    fn migrate(&self) {
        let migrated = Command::new(program(self.service))
            .arg("migrate")
            .env(setting(self.service, "database_url"), self.url(&self.name))
            .env(setting(self.service, "database_serving_role"), &self.new)
            .output()
            .unwrap();
        assert!(migrated.status.success(), "{migrated:?}");
    }
}

#[test]
fn passwords_of_databases_are_changed_and_no_request_is_lost() {
    let fleet = Fleet::start(Options::new().own_postgres());
    let world = &fleet.world;
    fleet.while_asked(|| {
        for service in SERVICES {
            let database = Database::of(world, service);
            let Database { name, old, new, .. } = &database;
            let make = format!(
                "CREATE ROLE {new} LOGIN PASSWORD '{NEW}'; GRANT CONNECT ON DATABASE {name} TO {new};
                 ALTER ROLE {name} PASSWORD '{NEW}'"
            );
            database.administrate(world, make);
            database.migrate();
            fleet.roll_with(
                service,
                &[(&setting(service, "database_url"), &database.url(new))],
            );
            database.administrate(world, format!("DROP OWNED BY {old}; DROP ROLE {old}"));
            fleet.go_on();
        }
    });
}

fn connect(url: &str) -> redis::RedisResult<Connection> {
    redis::Client::open(url)?.get_connection()
}

#[test]
fn redis_password_is_changed_and_no_limit_is_left_for_a_moment() {
    let fleet = Fleet::start(Options::new());
    let world = &fleet.world;
    let old_url = world.stack.redis_url();
    let mut new_url: reqwest::Url = old_url.parse().unwrap();
    let old = new_url.password().unwrap().to_owned();
    new_url.set_password(Some(NEW)).unwrap();
    let new_url = new_url.as_str();
    let tell = |url: &str, words: &[&str]| {
        let () = redis::cmd(words[0])
            .arg(&words[1..])
            .query(&mut connect(url).unwrap())
            .unwrap();
    };
    let gateways = [1, 2].map(|replica| Part::Process(Service::Gateway, replica));
    fleet.while_asked(|| {
        assert!(connect(new_url).is_err());
        tell(&old_url, &["ACL", "SETUSER", "default", &format!(">{NEW}")]);
        fleet.roll_with(Service::Keys, &[("DS_KEYS__REDIS_URL", new_url)]);
        fleet.roll_with(Service::Gateway, &[("DS_GATEWAY__REDIS_URL", new_url)]);
        tell(new_url, &["ACL", "SETUSER", "default", &format!("<{old}")]);
        assert!(connect(&old_url).is_err());
        // All connect anew, by the password that they have.
        for kind in ["normal", "pubsub"] {
            tell(new_url, &["CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes"]);
        }
        fleet.go_on();
        until("all gateways share limits and hear of changes", || {
            gateways.into_iter().all(|gateway| {
                ["gateway_rate_limit_shared", "gateway_key_changes_heard"]
                    .iter()
                    .all(|metric| world.metric(gateway, metric) == Some(1.0))
            })
        });
        fleet.go_on();
        for replica in [1, 2] {
            let part = Part::Process(Service::Keys, replica);
            let failures = world.metric(part, "keys_announcement_failures_total");
            assert!(failures.is_none_or(|failures| failures < 1.0), "{failures:?}");
        }
    });
}
