//! The files of `deploy/observability/` with the programs that they are for: a real OpenTelemetry Collector, Jaeger and
//! Prometheus. `./dev test --observability` builds these and says where they are; nothing else runs this.

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use devstack::{Options, Part, Service};
use serde_json::{Value, json};
use system_tests::{World, until, until_some};

use crate::exported::use_all;
use crate::files::{alerts, folder, questions};
use crate::otlp::Span;
use crate::trace::{TRACE, assert_whole, is_complete, search_in_a_trace, traced};

/// Panels that stay empty while all is well.
const MAY_BE_EMPTY: [&str; 1] = ["Failed statements"];

/// A program that runs until this is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port that nobody has now.
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// Where a program is, by the word of who has built it.
#[expect(
    clippy::disallowed_methods,
    reason = "where programs are is told by the command that built them, and is no setting"
)]
fn program(name: &str) -> PathBuf {
    let variable = format!("DS_TEST__{name}");
    let path = std::env::var_os(&variable);
    path.unwrap_or_else(|| panic!("{variable} is not set: this is run by ./dev test --observability"))
        .into()
}

fn start(command: &mut Command, log: &Path) -> Running {
    let log = fs::File::create(log).unwrap();
    let running = command
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn();
    Running(running.unwrap())
}

fn get(url: &str) -> Option<Value> {
    let answer = reqwest::blocking::get(url).ok()?;
    serde_json::from_str(&answer.text().ok()?).ok()
}

/// A collector that hands its spans to a Jaeger.
struct Traces {
    address: String,
    jaeger: String,
    collector_metrics: String,
    _running: [Running; 2],
}

impl Traces {
    fn start(logs: &Path) -> Self {
        let address = |port: u16| format!("127.0.0.1:{port}");
        let (otlp, query, query_grpc) = (free_port(), free_port(), free_port());
        let jaeger = start(
            Command::new(program("JAEGER"))
                .arg("--config")
                .arg(folder().join("jaeger.yaml"))
                .env("JAEGER_OTLP_LISTEN", address(otlp))
                .env("JAEGER_QUERY_LISTEN", address(query))
                .env("JAEGER_QUERY_GRPC_LISTEN", address(query_grpc)),
            &logs.join("jaeger.log"),
        );
        let (listen, told) = (free_port(), free_port());
        let collector = start(
            Command::new(program("OTELCOL"))
                .arg("--config")
                .arg(folder().join("collector.yaml"))
                .env("COLLECTOR_LISTEN", address(listen))
                .env("TRACES_ENDPOINT", address(otlp))
                .env("COLLECTOR_METRICS_HOST", "127.0.0.1")
                .env("COLLECTOR_METRICS_PORT", told.to_string()),
            &logs.join("collector.log"),
        );
        Self {
            address: format!("http://{}", address(listen)),
            jaeger: format!("http://{}", address(query)),
            collector_metrics: format!("http://{}/metrics", address(told)),
            _running: [jaeger, collector],
        }
    }

    /// What Jaeger has of a trace.
    fn trace(&self, id: &str) -> Vec<Span> {
        let answer = get(&format!("{}/api/traces/{id}", self.jaeger)).unwrap_or_default();
        let trace = &answer["data"][0];
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let spans = trace["spans"].as_array().into_iter().flatten().map(|span| {
            let tags = span["tags"].as_array().into_iter().flatten();
            let attributes: BTreeMap<String, String> =
                tags.map(|tag| (text(&tag["key"]), text(&tag["value"]))).collect();
            let parent = span["references"].as_array().into_iter().flatten();
            let mut parent = parent
                .filter(|reference| reference["refType"] == "CHILD_OF")
                .map(|reference| text(&reference["spanID"]));
            Span {
                trace: text(&span["traceID"]),
                id: text(&span["spanID"]),
                parent: parent.next_back().unwrap_or_default(),
                name: text(&span["operationName"]),
                kind: attributes
                    .get("span.kind")
                    .cloned()
                    .unwrap_or("internal".to_owned()),
                service: text(&trace["processes"][span["processID"].as_str().unwrap()]["serviceName"]),
                attributes,
            }
        });
        spans.collect()
    }
}

#[test]
#[ignore = "needs programs that ./dev test --observability builds"]
fn one_search_is_one_trace_in_jaeger_by_way_of_the_collector() {
    let logs = logs("traces");
    let traces = Traces::start(&logs);
    until_some("the collector and Jaeger answer", || {
        reqwest::blocking::get(&traces.collector_metrics).ok()?;
        get(&format!("{}/api/services", traces.jaeger))
    });
    let world = traced(&traces.address, Options::new());
    let account = world.account();
    search_in_a_trace(&world, &account);
    let spans = until_some("the spans have come", || {
        let spans = traces.trace(TRACE);
        is_complete(&spans).then_some(spans)
    });
    assert_whole(&spans);
    drop(traces);
    fs::remove_dir_all(logs).unwrap();
}

/// Lets the replicas of a service be found at these addresses, and no others, as its name would.
fn are_found(home: &Path, service: Service, targets: &[&str]) {
    let file = home.join(format!("{}.json", service.name()));
    // At once: half of a file would be read too.
    let whole = file.with_extension("new");
    fs::write(&whole, json!([{"targets": targets}]).to_string()).unwrap();
    fs::rename(whole, file).unwrap();
}

/// Prometheus on a stack, by the configuration that is deployed: only where the processes are found, and how often, is
/// of the test.
pub(crate) struct Prometheus {
    address: String,
    _running: Running,
}

impl Prometheus {
    pub(crate) fn start(world: &World, home: &Path) -> Self {
        let deployed = folder().join("prometheus");
        let mut text = fs::read_to_string(deployed.join("prometheus.yml")).unwrap();
        for service in Service::ALL {
            let name = service.name();
            let line = text
                .lines()
                .find(|line| line.contains("dns_sd_configs") && line.contains(&format!("names: [{name}]")));
            let line = line.unwrap_or_else(|| panic!("{name} is not scraped")).to_owned();
            let address = world.stack.admin_address(service).unwrap();
            let target = address.trim_start_matches("http://");
            let file = home.join(format!("{name}.json"));
            text = text.replace(
                &line,
                &format!("    file_sd_configs: [{{ files: [\"{}\"] }}]", file.display()),
            );
            are_found(home, service, &[target]);
        }
        assert!(!text.contains("dns_sd_configs"), "{text}");
        // Rates over a minute are there within seconds.
        let text = text
            .replace("scrape_interval: 15s", "scrape_interval: 1s")
            .replace("evaluation_interval: 15s", "evaluation_interval: 1s");
        fs::create_dir_all(home.join("rules")).unwrap();
        fs::write(home.join("prometheus.yml"), text).unwrap();
        // Nobody waits for an alert here to see whether it passes.
        let rules = fs::read_to_string(deployed.join("rules/alerts.yml")).unwrap();
        let rules = rules.lines().map(|line| match line.split_once("for: ") {
            Some((indent, _)) if indent.trim().is_empty() => format!("{indent}for: 0s\n"),
            // What was in the last day is what was in these minutes.
            _ => format!("{}\n", line.replace("[1d:5m]", "[10m:1s]")),
        });
        fs::write(home.join("rules/alerts.yml"), rules.collect::<String>()).unwrap();
        let listen = format!("127.0.0.1:{}", free_port());
        let running = start(
            Command::new(program("PROMETHEUS"))
                .arg(format!("--config.file={}", home.join("prometheus.yml").display()))
                .arg(format!("--storage.tsdb.path={}", home.join("data").display()))
                .arg(format!("--web.listen-address={listen}")),
            &home.join("prometheus.log"),
        );
        Self {
            address: format!("http://{listen}"),
            _running: running,
        }
    }

    /// Whether an alert fires now.
    pub(crate) fn is_firing(&self, alert: &str) -> bool {
        let query = format!("ALERTS{{alertstate=\"firing\", alertname=\"{alert}\"}}");
        self.ask(&query).is_some_and(|found| !found.is_empty())
    }

    /// The answer to a query; it has to be one.
    pub(crate) fn ask(&self, query: &str) -> Option<Vec<Value>> {
        let url =
            reqwest::Url::parse_with_params(&format!("{}/api/v1/query", self.address), [("query", query)]);
        let answer = get(url.unwrap().as_str())?;
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        answer["data"]["result"].as_array().cloned()
    }
}

/// A folder for what the programs say; it stays if the test fails.
pub(crate) fn logs(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("observability-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
#[ignore = "needs programs that ./dev test --observability builds"]
fn every_question_of_the_dashboards_and_every_alert_is_answered_by_a_prometheus() {
    let world = World::start(Options::new());
    let home = logs("prometheus");
    let prometheus = Prometheus::start(&world, &home);
    until_some("all processes are scraped", || {
        let up = prometheus.ask("sum(up{job=~\"gateway|search|keys|billing\"})")?;
        (up.first()?["value"][1] == "4").then_some(())
    });
    for alert in alerts() {
        prometheus.ask(&alert.expression);
    }
    for question in questions() {
        let expression = question.expression.replace("$__rate_interval", "1m");
        if MAY_BE_EMPTY.contains(&question.panel.as_str()) {
            prometheus.ask(&expression);
            continue;
        }
        let place = format!("{}: {} has data", question.dashboard, question.panel);
        until_some(&place, || {
            use_all(&world);
            prometheus.ask(&expression).filter(|found| !found.is_empty())
        });
    }
    let firing = prometheus
        .ask("ALERTS{alertstate=\"firing\", alertname!~\"IndexDiskLow|SlowSearches\"}")
        .unwrap();
    assert!(firing.is_empty(), "{firing:?}");
    drop(prometheus);
    fs::remove_dir_all(home).unwrap();
}

#[test]
#[ignore = "needs programs that ./dev test --observability builds"]
fn a_replica_that_is_gone_and_leaves_no_target_is_missed() {
    let world = World::start(Options::new());
    let another = world.stack.start_another(Service::Search).unwrap();
    let home = logs("replicas");
    let prometheus = Prometheus::start(&world, &home);
    let addresses = [Service::Search.into(), another].map(|part: Part| {
        let address = world.stack.admin_address(part).unwrap();
        address.trim_start_matches("http://").to_owned()
    });
    let [one, other] = addresses.each_ref().map(String::as_str);
    are_found(&home, Service::Search, &[one, other]);
    until_some("both replicas have been there for most of the time", || {
        let query = "quantile_over_time(0.9, count(up{job=\"search\"} == 1)[10m:1s]) == 2";
        prometheus.ask(query).filter(|found| !found.is_empty())
    });
    assert!(!prometheus.is_firing("ReplicaMissing"));
    world.stack.kill(another).unwrap();
    are_found(&home, Service::Search, &[one]);
    until("ReplicaMissing fires", || prometheus.is_firing("ReplicaMissing"));
    // Its target is gone, so that nothing else tells.
    until_some("it is all that fires", || {
        let firing = prometheus.ask("ALERTS{alertstate=\"firing\", job=\"search\"}")?;
        (firing.len() == 1).then_some(())
    });
    world.stack.start_part(another).unwrap();
    are_found(&home, Service::Search, &[one, other]);
    until("ReplicaMissing is over", || {
        !prometheus.is_firing("ReplicaMissing")
    });
    drop(prometheus);
    fs::remove_dir_all(home).unwrap();
}

#[test]
#[ignore = "needs programs that ./dev test --observability builds"]
fn the_rules_hold_what_they_say() {
    let prometheus = folder().join("prometheus");
    for arguments in [
        ["check", "config", "prometheus.yml"],
        ["check", "rules", "rules/alerts.yml"],
        ["test", "rules", "tests/alerts.yml"],
        ["test", "rules", "tests/replicas.yml"],
    ] {
        let output = Command::new(program("PROMTOOL"))
            .args(arguments)
            .current_dir(&prometheus)
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{arguments:?}: {told}");
    }
}
