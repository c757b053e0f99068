//! What the containers may not do.

use system_tests::Containers;

const ALL: [&str; 7] = [
    "gateway", "search-1", "search-2", "keys", "billing", "postgres", "redis",
];

#[test]
#[ignore = "on containers: ./dev test --compose"]
fn no_container_is_root_can_write_its_image_or_has_a_capability() {
    let system = Containers::of_environment();
    for service in ALL {
        let of = |template: &str| system.inspect(service, template);
        assert_eq!(of("{{.State.Health.Status}}"), "healthy", "{service}");
        assert_eq!(of("{{.HostConfig.ReadonlyRootfs}}"), "true", "{service}");
        assert_eq!(of("{{.HostConfig.CapDrop}}"), "[ALL]", "{service}");
        assert_eq!(of("{{.HostConfig.CapAdd}}"), "[]", "{service}");
        assert_eq!(
            of("{{.HostConfig.SecurityOpt}}"),
            "[no-new-privileges:true]",
            "{service}"
        );
        assert!(
            of("{{.HostConfig.Memory}}") != "0" && of("{{.HostConfig.NanoCpus}}") != "0",
            "{service}"
        );
        let user = of("{{.Config.User}}");
        assert!(
            ["10001:10001", "999:999"].contains(&user.as_str()),
            "{service} runs as {user}"
        );
    }
}

#[test]
#[ignore = "on containers: ./dev test --compose"]
fn our_images_have_no_shell_and_databases_are_on_no_port() {
    let system = Containers::of_environment();
    for service in ["gateway", "search-1", "keys", "billing"] {
        for shell in ["sh", "/bin/sh", "bash"] {
            let output = system.compose(&["exec", "-T", service, shell, "-c", "true"]);
            assert!(!output.status.success(), "{service} has {shell}");
        }
    }
    for service in ["postgres", "redis"] {
        assert_eq!(
            system.inspect(service, "{{.HostConfig.PortBindings}}"),
            "map[]",
            "{service}"
        );
    }
    let published = system.inspect("gateway", "{{.HostConfig.PortBindings}}");
    assert!(
        published.contains("127.0.0.1") && !published.contains("0.0.0.0"),
        "{published}"
    );
    assert!(!published.contains("7110/tcp"), "{published}");
}
