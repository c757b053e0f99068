//! `deploy/kubernetes/`: each container's environment is one that its process would run with, and the ports, probes,
//! addresses, secrets and times around it are those that the process then has.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use devstack::Service;
use serde_json::Value;
use tempfile::TempDir;

use crate::{assert_none, documents, list, processes, root, text};

/// Where containers find the keys of their Secret, by the manifests' own rule.
const SECRETS: &str = "/etc/developer-search/";

/// Time to hand out the last traces, and to end, beyond the grace time.
const END_SECONDS: u64 = 5;

/// Secrets as `make-secrets` of the local overlay makes them up: `secrets/NAME/KEY`.
struct Secrets(TempDir);

impl Secrets {
    fn make() -> Self {
        let folder = TempDir::new().unwrap();
        let script = folder.path().join("make-secrets");
        fs::copy(
            root().join("deploy/kubernetes/overlays/local/make-secrets"),
            &script,
        )
        .unwrap();
        let made = Command::new(&script).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        Self(folder)
    }

    fn path(&self, secret: &str, key: &str) -> String {
        self.0
            .path()
            .join("secrets")
            .join(secret)
            .join(key)
            .display()
            .to_string()
    }
}

/// A deployment, stateful set or job of ours, with its one container.
struct Workload<'a> {
    object: &'a Value,
    container: &'a Value,
    process: Service,
    /// Its Secret's name.
    secret: &'a str,
    /// Its settings, and the keys of its Secret that it reads.
    settings: BTreeMap<String, String>,
    keys: Vec<String>,
}

/// All objects of the base.
fn base() -> Vec<Value> {
    let folder = root().join("deploy/kubernetes/base");
    let kustomization = documents(&folder.join("kustomization.yaml")).remove(0);
    list(&kustomization["resources"])
        .iter()
        .flat_map(|file| documents(&folder.join(text(file))))
        .collect()
}

fn name(object: &Value) -> &str {
    text(&object["metadata"]["name"])
}

fn of_kind<'a>(objects: &'a [Value], kind: &str) -> Vec<&'a Value> {
    objects.iter().filter(|object| object["kind"] == kind).collect()
}

fn workloads<'a>(objects: &'a [Value], secrets: &Secrets) -> Vec<Workload<'a>> {
    let pods = objects
        .iter()
        .filter(|object| object["spec"]["template"]["spec"]["containers"].is_array());
    pods.map(|object| of_object(object, secrets)).collect()
}

fn of_object<'a>(object: &'a Value, secrets: &Secrets) -> Workload<'a> {
    let pod = &object["spec"]["template"]["spec"];
    let [container] = list(&pod["containers"]) else {
        panic!("{} has other than one container", name(object));
    };
    let process = Service::ALL
        .into_iter()
        .find(|process| container["image"] == format!("developer-search-{}", process.name()))
        .unwrap_or_else(|| panic!("{} is none of ours", container["image"]));
    let volume = list(&pod["volumes"])
        .iter()
        .find(|volume| volume["name"] == "secrets");
    let secret = text(&volume.unwrap()["secret"]["secretName"]);
    let mount = list(&container["volumeMounts"])
        .iter()
        .find(|mount| mount["name"] == "secrets");
    assert_eq!(text(&mount.unwrap()["mountPath"]), SECRETS.trim_end_matches('/'));

    let mut environment = Vec::new();
    let mut keys = Vec::new();
    for variable in list(&container["env"]) {
        let (variable, value) = (name_of(variable), text(&variable["value"]));
        let Some(key) = value.strip_prefix(SECRETS) else {
            environment.push((variable.to_owned(), value.to_owned()));
            continue;
        };
        let expected = format!(
            "DS_{}__{}_FILE",
            process.name().to_uppercase(),
            key.to_uppercase()
        );
        assert_eq!(
            variable, expected,
            "a key of a Secret is called after its setting"
        );
        environment.push((variable.to_owned(), secrets.path(secret, key)));
        keys.push(key.to_owned());
    }
    let arguments: Vec<String> = list(&container["args"])
        .iter()
        .map(|argument| text(argument).to_owned())
        .collect();
    let settings = processes::configuration(process, &arguments, &environment)
        .unwrap_or_else(|refused| panic!("{} of {}: {refused}", text(&container["name"]), name(object)));
    Workload {
        object,
        container,
        process,
        secret,
        settings,
        keys,
    }
}

fn name_of(value: &Value) -> &str {
    text(&value["name"])
}

impl Workload<'_> {
    fn port(&self, setting: &str) -> u16 {
        self.settings[setting].parse::<SocketAddr>().unwrap().port()
    }

    fn serves(&self) -> bool {
        self.container["args"][0] == "serve"
    }

    fn named_port(&self, name: &str) -> Option<u16> {
        let port = list(&self.container["ports"])
            .iter()
            .find(|port| port["name"] == name)?;
        u16::try_from(port["containerPort"].as_u64()?).ok()
    }
}

#[test]
fn every_container_has_an_environment_that_its_process_takes() {
    let (objects, secrets) = (base(), Secrets::make());
    let workloads = workloads(&objects, &secrets);
    for process in Service::ALL {
        let serving = workloads
            .iter()
            .filter(|one| one.process == process && one.serves());
        assert_eq!(serving.count(), 1, "{}", process.name());
    }
    for process in Service::WITH_DATABASE {
        let migrating: Vec<_> = workloads
            .iter()
            .filter(|one| one.process == process && !one.serves())
            .collect();
        let [migrating] = migrating.as_slice() else {
            panic!("{} has no Job that migrates", process.name());
        };
        let serving = workloads
            .iter()
            .find(|one| one.process == process && one.serves())
            .unwrap();
        assert_ne!(migrating.secret, serving.secret, "they are different roles");
        assert_eq!(migrating.keys, ["database_url"]);
        let serving_role = &migrating.settings["database_serving_role"];
        let url = fs::read_to_string(secrets.path(serving.secret, "database_url")).unwrap();
        assert!(
            url.starts_with(&format!("postgres://{serving_role}:")),
            "{serving_role} serves"
        );
    }
}

#[test]
fn ports_and_probes_are_those_of_the_process() {
    let (objects, secrets) = (base(), Secrets::make());
    for one in workloads(&objects, &secrets).iter().filter(|one| one.serves()) {
        let public = if one.process == Service::Gateway {
            "http"
        } else {
            "grpc"
        };
        assert_eq!(one.named_port(public), Some(one.port("listen")));
        assert_eq!(one.named_port("admin"), Some(one.port("admin_listen")));
        for (probe, paths) in [
            ("startupProbe", ["/livez", "/readyz"].as_slice()),
            ("readinessProbe", &["/readyz"]),
            ("livenessProbe", &["/livez"]),
        ] {
            let request = &one.container[probe]["httpGet"];
            assert!(
                paths.contains(&text(&request["path"])),
                "{probe} of {}",
                one.process.name()
            );
            assert_eq!(request["port"], "admin");
        }
        // Only a process that listens everywhere can be reached from outside its pod.
        for setting in ["listen", "admin_listen"] {
            assert!(one.settings[setting].starts_with("0.0.0.0:"), "{setting}");
        }
        let service = of_kind(&objects, "Service")
            .into_iter()
            .find(|service| name(service) == one.process.name());
        let port = &service.unwrap()["spec"]["ports"][0];
        assert_eq!(port["targetPort"], public);
    }
}

#[test]
fn the_gateway_calls_services_that_are_there() {
    let (objects, secrets) = (base(), Secrets::make());
    let workloads = workloads(&objects, &secrets);
    let gateway = workloads
        .iter()
        .find(|one| one.process == Service::Gateway)
        .unwrap();
    for one in workloads
        .iter()
        .filter(|one| one.serves() && one.process != Service::Gateway)
    {
        let address = &gateway.settings[&format!("{}_url", one.process.name())];
        let expected = format!("http://{}:{}", one.process.name(), one.port("listen"));
        assert_eq!(*address, expected);
        let service = of_kind(&objects, "Service")
            .into_iter()
            .find(|service| name(service) == one.process.name());
        let service = &service.unwrap()["spec"];
        assert_eq!(service["clusterIP"], "None", "calls are spread by the caller");
        assert_eq!(service["ports"][0]["port"], one.port("listen"));
    }
}

#[test]
fn a_pod_has_the_time_that_its_process_takes_to_end() {
    let (objects, secrets) = (base(), Secrets::make());
    for one in workloads(&objects, &secrets).iter().filter(|one| one.serves()) {
        let pod = &one.object["spec"]["template"]["spec"];
        let pause = one.container["lifecycle"]["preStop"]["sleep"]["seconds"]
            .as_u64()
            .unwrap();
        let grace: u64 = one.settings["grace"].strip_suffix('s').unwrap().parse().unwrap();
        let given = pod["terminationGracePeriodSeconds"].as_u64().unwrap();
        assert!(
            given >= pause + grace + END_SECONDS,
            "{}: {given}",
            one.process.name()
        );
    }
}

#[test]
fn the_local_overlay_makes_every_secret_that_is_read() {
    let (objects, secrets) = (base(), Secrets::make());
    let needed: BTreeSet<(String, String)> = workloads(&objects, &secrets)
        .iter()
        .flat_map(|one| one.keys.iter().map(|key| (one.secret.to_owned(), key.clone())))
        .collect();
    let overlay = documents(&root().join("deploy/kubernetes/overlays/local/kustomization.yaml")).remove(0);
    let mut problems = Vec::new();
    let mut made = BTreeSet::new();
    for generator in list(&overlay["secretGenerator"]) {
        let secret = name_of(generator);
        for file in list(&generator["files"]) {
            let key = Path::new(text(file)).file_name().unwrap().to_str().unwrap();
            if text(file) != format!("secrets/{secret}/{key}")
                || !Path::new(&secrets.path(secret, key)).exists()
            {
                problems.push(format!("make-secrets does not make {} for {secret}", text(file)));
            }
            made.insert((secret.to_owned(), key.to_owned()));
        }
    }
    // The stores' own: no process of ours reads them.
    made.retain(|(secret, _)| secret != "postgres" && secret != "redis");
    for (secret, key) in needed.symmetric_difference(&made) {
        problems.push(format!("{key} of the Secret {secret} is not both read and made"));
    }
    assert_none(&problems);
}

#[test]
fn policies_open_ports_that_somebody_listens_on() {
    let (objects, secrets) = (base(), Secrets::make());
    let mut known: BTreeSet<u64> = workloads(&objects, &secrets)
        .iter()
        .filter(|one| one.serves())
        .flat_map(|one| [one.port("listen"), one.port("admin_listen")])
        .map(u64::from)
        .collect();
    // DNS, Postgres, Redis, OTLP.
    known.extend([53, 5432, 6379, 4317]);
    let mut found = 0;
    for path in crate::files(&root().join("deploy/kubernetes")) {
        // Which ports stores have elsewhere is for their owner to say.
        let is_theirs = path.ends_with("production/network.yaml");
        if is_theirs || path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        for policy in of_kind(&documents(&path), "NetworkPolicy") {
            for direction in ["ingress", "egress"] {
                for rule in list(&policy["spec"][direction]) {
                    for port in list(&rule["ports"]) {
                        found += 1;
                        let number = port["port"].as_u64().unwrap();
                        assert!(known.contains(&number), "{}: {number}", name(policy));
                    }
                }
            }
        }
    }
    assert!(found > 10, "the policies were not found");
}

/// A patch that names a container which is not there adds one, and nobody complains until it is applied.
#[test]
fn patches_change_containers_that_are_there() {
    let objects = base();
    let mut found = 0;
    for folder in ["overlays", "components"] {
        for path in crate::files(&root().join("deploy/kubernetes").join(folder)) {
            if path.extension().is_none_or(|extension| extension != "yaml") {
                continue;
            }
            let documents = documents(&path);
            let inline = documents
                .iter()
                .flat_map(|document| list(&document["patches"]))
                .filter_map(|patch| {
                    let patch: Value = serde_saphyr::from_str(patch["patch"].as_str()?).unwrap();
                    Some(patch)
                });
            for patch in inline.chain(documents.iter().cloned()) {
                let Some(patched) = objects.iter().find(|object| {
                    object["kind"] == patch["kind"] && object["metadata"]["name"] == patch["metadata"]["name"]
                }) else {
                    continue;
                };
                let names = |workload: &Value| -> Vec<String> {
                    let containers = &workload["spec"]["template"]["spec"]["containers"];
                    list(containers)
                        .iter()
                        .map(|container| name_of(container).to_owned())
                        .collect()
                };
                found += 1;
                assert_eq!(names(&patch), names(patched), "{}", path.display());
            }
        }
    }
    assert!(found > 4, "the patches were not found");
}
