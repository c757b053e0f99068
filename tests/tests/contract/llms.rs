//! What machines that read are told: `/llms.txt`.

use regex::Regex;
use system_tests::world;

#[test]
fn it_needs_no_credential_and_every_link_of_it_leads_somewhere() {
    let account = world().account();
    let origin = account.base.trim_end_matches("/api/v1");
    let get = |path: &str| reqwest::blocking::get(format!("{origin}{path}")).unwrap();
    let answer = get("/llms.txt");
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "text/plain; charset=utf-8");
    let text = answer.text().unwrap();
    let links = Regex::new(r"\]\(([^)]+)\)").unwrap();
    let links: Vec<&str> = links
        .captures_iter(&text)
        .map(|link| link.get(1).unwrap().as_str())
        .collect();
    for known in ["/api/v1/openapi.json", "/docs", "/docs/guides/errors.md", "/mcp"] {
        assert!(links.contains(&known), "{known} is not there: {text}");
    }
    let document: serde_json::Value = get("/api/v1/openapi.json").json().unwrap();
    for link in links {
        let (path, pointer) = link.split_once('#').unwrap_or((link, ""));
        assert!(
            document.pointer(pointer).is_some(),
            "{link} is no place of the document"
        );
        // Who uses tools has a key.
        let expected = if path == "/mcp" { 401 } else { 200 };
        assert_eq!(get(path).status(), expected, "{link}");
    }
}
