//! What is http's own: refusals line by line, redirects, proxies, headers, large bodies.

use crate::{
    pair::Pair,
    wire::{Conduct, Wire},
    world::ServerKind,
};

#[test]
fn over_http_a_refused_ref_holds_nobody_back() {
    let Some(pair) = Pair::at(ServerKind::Nginx) else {
        return;
    };
    let tip = pair.record("a", "one");
    pair.git([
        "push",
        "handoff",
        "refs/handoff/a",
        "main:refs/heads/x",
        ":refs/handoff/b",
    ])
    .failed()
    .says("[new reference]   refs/handoff/a -> refs/handoff/a")
    .says("main -> x (REF_OUTSIDE_NAMESPACE: ");
    assert_eq!(pair.server_ref("refs/handoff/a"), tip);
    assert_eq!(pair.server_ref("refs/heads/x"), "");
    pair.git(["push", "--porcelain", "handoff", ":refs/handoff/a"])
        .failed();
    assert_eq!(pair.server_ref("refs/handoff/a"), tip);
    // A dry run is judged here, since it can be seen.
    pair.git(["push", "--dry-run", "handoff", "main:refs/heads/x"])
        .failed()
        .says("REF_OUTSIDE_NAMESPACE");
    let other = pair.record("b", "two");
    pair.git(["push", "--dry-run", "handoff"])
        .ok()
        .says("[new reference]");
    assert_eq!(pair.server_ref("refs/handoff/b"), "");
    pair.git(["push", "--force-with-lease=refs/handoff/b:", "handoff"])
        .ok();
    assert_eq!(pair.server_ref("refs/handoff/b"), other);
    pair.record("b", "three");
    pair.git(["push", "--signed", "handoff"])
        .failed()
        .says("push again with `--no-signed`");
}

#[test]
fn an_http_server_that_says_no_is_reported_once() {
    let Some(pair) = Pair::at(ServerKind::Nginx) else {
        return;
    };
    let server = pair.server();
    pair.set_remote(server.variable("HANDOFF_TEST_URL_READER1"));
    pair.record("a", "one");
    let run = pair.git(["push", "handoff"]).failed().says("error: 403");
    assert_eq!(run.err.matches("error: 403").count(), 1, "{run:#?}");
    pair.set_remote(server.variable("HANDOFF_TEST_URL_PLAIN"));
    pair.git(["ls-remote", "handoff"])
        .failed()
        .says("could not read Username");
}

#[test]
fn fetch_and_push_may_take_different_transports() {
    let Some(pair) = Pair::at(ServerKind::Nginx) else {
        return;
    };
    let url = pair.git(["config", "remote.handoff.url"]).line();
    let http = url.trim_start_matches("handoff::");
    let tip = pair.record("a", "one");
    let bare = pair.bare().to_str().unwrap();
    let key = format!("url.{bare}.pushInsteadOf");
    pair.git(["config", &key, http]).ok();
    pair.git(["push", "handoff"]).ok().says("[new reference]");
    pair.git(["fetch", "handoff"]).ok();
    assert_eq!(
        pair.git(["rev-parse", "refs/handoff-remote/handoff/a"])
            .line(),
        tip
    );
    pair.git(["config", "--unset", &key]).ok();

    pair.set_remote(bare);
    let tip = pair.record("a", "two");
    pair.git(["config", &format!("url.{http}.pushInsteadOf"), bare])
        .ok();
    pair.git(["push", "handoff", "refs/handoff/a", "main:refs/heads/x"])
        .failed()
        .says("refs/handoff/a -> refs/handoff/a")
        .says("REF_OUTSIDE_NAMESPACE");
    pair.git(["fetch", "handoff"]).ok();
    assert_eq!(
        pair.git(["rev-parse", "refs/handoff-remote/handoff/a"])
            .line(),
        tip
    );
}

#[test]
fn sha256_repositories_are_pushed_and_refused_over_http() {
    let Some(pair) = Pair::at_with_format(ServerKind::Nginx, "sha256") else {
        return;
    };
    let tip = pair.record("a", "one");
    pair.git(["push", "handoff", "refs/handoff/a", "main:refs/heads/x"])
        .failed();
    let listed = pair.git(["ls-remote", "handoff"]).ok();
    assert_eq!(listed.out, format!("{tip}\trefs/handoff/a\n"));
    pair.git(["push", "handoff", ":refs/handoff/a"])
        .failed()
        .says("DELETE_REFUSED");
}

/// Returns host and port of the pair's server.
fn host(pair: &Pair) -> String {
    format!("127.0.0.1:{}", pair.server().variable("HANDOFF_TEST_PORT"))
}

#[test]
fn a_redirect_is_followed_as_git_follows_it() {
    let Some(pair) = Pair::at(ServerKind::Nginx) else {
        return;
    };
    pair.know_password();
    let wire = Wire::to("", Conduct::Redirect(format!("http://{}", host(&pair))));
    pair.set_remote(&format!("http://{}/test.git", wire.address()));
    let tip = pair.record("a", "one");
    pair.git(["-c", "http.followRedirects=false", "push", "handoff"])
        .failed();
    assert_eq!(pair.server_ref("refs/handoff/a"), "");
    pair.git(["push", "handoff", "refs/handoff/a", "main:refs/heads/x"])
        .failed()
        .says("redirecting to http://")
        .says("main -> x (REF_OUTSIDE_NAMESPACE: ")
        .says("[new reference]   refs/handoff/a -> refs/handoff/a");
    assert_eq!(pair.server_ref("refs/handoff/a"), tip);
    let listed = pair.git(["ls-remote", "handoff"]).listed();
    assert_eq!(listed, ["refs/handoff/a"]);
    for version in ["protocol.version=0", "protocol.version=2"] {
        pair.git(["-c", version, "fetch", "handoff"]).ok();
    }
    let asked = wire.heard();
    // Only what comes first is asked here; the rest goes where that led.
    assert!(asked.iter().all(|request| request.starts_with("GET ")));
}

#[test]
fn a_proxy_and_other_settings_of_http_are_heeded() {
    let Some(pair) = Pair::at(ServerKind::Nginx) else {
        return;
    };
    pair.know_password();
    pair.set_remote(pair.server().variable("HANDOFF_TEST_URL_PLAIN"));
    // A web server takes whole URLs too, so what passes bytes on is a proxy.
    let wire = Wire::to(&host(&pair), Conduct::Pass);
    let proxy = format!("http://{}", wire.address());
    let base = format!("http.http://{}/.extraHeader", host(&pair));
    for (key, value) in [
        ("http.proxy", proxy.as_str()),
        (&base, "X-Handoff-Test: of this server"),
        (
            "http.http://other.example/.extraHeader",
            "X-Handoff-Test: of another",
        ),
        ("http.userAgent", "handoff-test/1"),
        ("http.version", "HTTP/1.1"),
    ] {
        pair.git(["config", key, value]).ok();
    }
    let tip = pair.record("a", "one");
    pair.git(["push", "handoff"]).ok();
    assert_eq!(pair.server_ref("refs/handoff/a"), tip);
    pair.git(["fetch", "handoff"]).ok();
    let heard = wire.heard().concat();
    let first = format!(
        "GET http://{}/test.git/info/refs?service=git-receive-pack",
        host(&pair)
    );
    for part in [
        first.as_str(),
        "POST http://",
        "/test.git/git-receive-pack HTTP/1.1",
        "/test.git/git-upload-pack HTTP/1.1",
        "X-Handoff-Test: of this server",
        "User-Agent: handoff-test/1",
    ] {
        assert!(heard.contains(part), "no {part} in {heard}");
    }
    assert!(!heard.contains("of another"));
}

#[test]
fn a_body_of_forty_megabytes_is_sent_in_chunks() {
    let Some(pair) = Pair::at(ServerKind::Nginx) else {
        return;
    };
    let wire = Wire::to(&host(&pair), Conduct::Pass);
    pair.set_remote(&pair.url().replace(&host(&pair), &wire.address()));
    let mut state = 1_u64;
    let mut noise = Vec::with_capacity(40 << 20);
    while noise.len() < 40 << 20 {
        // xorshift64: what no pack makes smaller.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        noise.extend_from_slice(&state.to_le_bytes());
    }
    std::fs::write(pair.path("work/noise"), &noise).unwrap();
    let tip = pair.record("a", "one");
    pair.git(["push", "handoff"]).ok();
    assert_eq!(pair.server_ref("refs/handoff/a"), tip);
    let (sent, _) = wire.passed();
    assert!(sent > noise.len(), "{sent}");
    assert!(wire.heard().concat().contains("Transfer-Encoding: chunked"));
    // The pack of a refused push of that size is not sent at all.
    let outside = format!("{tip}:refs/heads/x");
    pair.git(["push", "handoff", &outside])
        .failed()
        .says("REF_OUTSIDE_NAMESPACE");
    assert!(wire.passed().0 - sent < 1 << 20);
    pair.fresh("fresh");
    pair.git_in("fresh", ["fetch", "handoff"]).ok();
    let file = "refs/handoff-remote/handoff/a:worktree/noise";
    let size = pair.git_in("fresh", ["cat-file", "-s", file]).line();
    assert_eq!(size, noise.len().to_string());
}
