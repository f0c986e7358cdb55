//! `WebFetch`: pages from a server on this machine, and addresses that lead where nothing is fetched from.

use std::sync::Arc;

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse as _, Redirect};
use axum::routing::get;
use belvedere::permission::AccessKind;
use belvedere::sandbox::Hosts;
use belvedere::tool::{Args, Fetcher, PreparedCall, ToolOutput, markdown, standard_tools};
use serde_json::{Value, json};

use super::{Bench, text_of as text};
use crate::support::{serve, shell};

fn listing(place: &str) -> Fetcher {
    Fetcher::new(Hosts::new([place.to_owned()]))
}

async fn fetch(bench: &Bench, fetcher: &Fetcher, input: Value) -> Result<(AccessKind, ToolOutput), ToolOutput> {
    let tools = standard_tools(
        &shell(),
        fetcher,
        &belvedere::tool::LanguageServers::default(),
        &belvedere::tool::EditorFiles::default(),
    );
    let tool = tools.find("WebFetch").unwrap();
    let args: Args = input.as_object().unwrap().clone();
    let PreparedCall { plan, run } = tool.parse(&args).prepare(&bench.context).await?;
    Ok((plan.access, run.await))
}

async fn said(bench: &Bench, fetcher: &Fetcher, input: Value) -> String {
    match fetch(bench, fetcher, input).await {
        Ok((_, output)) | Err(output) => text(&output),
    }
}

#[tokio::test]
async fn a_page_comes_as_markdown_in_parts() {
    let long = "word ".repeat(1_000);
    let page = format!("<title>The <b>Book</title><h1>One</h1><p>{long}<p>the <a href=/next>end</a>");
    let place = serve(Router::new().route("/book", get(move || async { Html(page) }))).await;
    let mut bench = Bench::new();
    bench.context.result_chars = 3_000;
    let fetcher = listing(&place);
    let url = format!("http://{place}/book#part");
    let (access, first) = fetch(&bench, &fetcher, json!({"url": url, "prompt": "the end"})).await.unwrap();
    let host = place.split(':').next().unwrap().to_owned();
    assert_eq!(access, AccessKind::Fetch { url: format!("http://{place}/book"), host });
    let shown = text(&first);
    assert!(shown.starts_with(&format!("Page: http://{place}/book\nTitle: The <b>Book\n")), "{shown}");
    assert!(shown.contains("\n# One\n\nword word"), "{shown}");
    assert!(shown.ends_with("For more, call again with offset 2200.]"), "{shown}");
    let rest = said(&bench, &fetcher, json!({"url": url, "offset": 4_000})).await;
    assert!(rest.ends_with(&format!("word\n\nthe [end](http://{place}/next)")), "{rest}");
    let beyond = said(&bench, &fetcher, json!({"url": url, "offset": 90_000})).await;
    assert!(beyond.starts_with("The page has 5,0"), "{beyond}");
}

#[tokio::test]
async fn nothing_near_is_fetched_unless_it_is_listed() {
    let bench = Bench::new();
    let fetcher = Fetcher::default();
    for host in [
        "localhost",
        "LOCALHOST.",
        "a.localhost",
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "0",
        "[::1]",
        "[::]",
        "[::ffff:10.0.0.1]",
        "[::10.0.0.1]",
        "[64:ff9b::a00:1]",
        "[64:ff9b:1::8.8.8.8]",
        "[2002:7f00:1::]",
        "[fe80::1]",
        "[fec0::1]",
        "[fd00::1]",
        "[ff02::1]",
        "[2001:0:0:0:0:0:f5ff:fffe]",
        "169.254.169.254",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "100.100.100.200",
        "198.18.0.1",
        "192.0.0.8",
        "224.0.0.1",
        "255.255.255.255",
        "metadata.google.internal",
        "router",
        "printer.local",
        "１２７.0.0.1",
        "ⓛocalhost",
        "localhost:8080",
    ] {
        let refusal = said(&bench, &fetcher, json!({"url": format!("http://{host}/")})).await;
        assert!(refusal.contains("is on this machine or its network"), "{host}: {refusal}");
    }
    for (url, why) in [
        ("file:///etc/passwd", "Only http and https"),
        ("ftp://example.com/", "Only http and https"),
        ("data://text/html,x", "Only http and https"),
        ("https://me:secret@example.com/", "Leave the user name"),
        ("https://", "is no address"),
        (&format!("https://example.com/{}", "x".repeat(2_000)), "longer than"),
    ] {
        let refusal = said(&bench, &fetcher, json!({"url": url})).await;
        assert!(refusal.contains(why) && !refusal.contains("secret"), "{url}: {refusal}");
    }
    let place = serve(Router::new().route("/", get(|| async { "hello" }))).await;
    let other = listing("127.0.0.1:1");
    assert!(said(&bench, &other, json!({"url": format!("http://{place}/")})).await.contains("on this machine"));
    assert!(said(&bench, &listing(&place), json!({"url": format!("http://{place}/")})).await.ends_with("hello"));
}

#[tokio::test]
async fn a_public_name_that_leads_here_is_refused() {
    let place = serve(Router::new().route("/", get(|| async { "hello" }))).await;
    let port = place.split(':').nth(1).unwrap().to_owned();
    let fetcher = |hosts: Hosts| {
        Fetcher::new(hosts).looking_up(|_, port| {
            Box::pin(async move { Ok(vec![([127, 0, 0, 1], port).into(), ([10, 0, 0, 1], port).into()]) })
        })
    };
    let bench = Bench::new();
    let url = format!("http://rebinding.example:{port}/");
    for hosts in [Hosts::default(), Hosts::new(["rebinding.example".to_owned()])] {
        let refusal = said(&bench, &fetcher(hosts), json!({"url": url})).await;
        assert!(refusal.contains("rebinding.example is on this machine"), "{refusal}");
    }
}

#[tokio::test]
async fn a_redirect_stays_with_the_host() {
    let away = "http://10.0.0.1/secret";
    let routes = Router::new()
        .route("/near", get(|| async { Redirect::temporary("/there?x=1") }))
        .route("/there", get(|| async { "arrived" }))
        .route("/away", get(move || async move { Redirect::to(away) }))
        .route("/port", get(|| async { Redirect::to("http://127.0.0.1:1/") }))
        .route("/file", get(|| async { Redirect::to("file:///etc/passwd") }))
        .route("/round", get(|| async { Redirect::to("/round") }));
    let place = serve(routes).await;
    let (bench, fetcher) = (Bench::new(), listing(&place));
    let get = async |path: &str| said(&bench, &fetcher, json!({"url": format!("http://{place}{path}")})).await;
    let arrived = get("/near").await;
    assert!(arrived.ends_with("arrived") && arrived.contains("/there?x=1"), "{arrived}");
    assert!(get("/away").await.contains(&format!("redirects to another host: {away}\nCall WebFetch")));
    assert!(get("/port").await.contains("redirects to another host: http://127.0.0.1:1/"));
    assert!(get("/file").await.contains("redirects to another host: file:///etc/passwd"));
    assert!(get("/round").await.contains("redirects more than 5 times"));
}

#[tokio::test]
async fn what_is_no_text_or_no_success_is_said() {
    let typed = |kind: &'static str, body: Vec<u8>| get(move || async move { ([(header::CONTENT_TYPE, kind)], body) });
    let routes = Router::new()
        .route("/png", typed("image/png", vec![0; 10]))
        .route("/json", typed("application/vnd.api+json", b"{\"a\": 1}".to_vec()))
        .route("/latin", typed("text/html; charset=ISO-8859-1", b"<p>caf\xe9".to_vec()))
        .route("/sniffed", typed("text/html", b"<meta charset='windows-1251'><p>\xcf\xf0\xe8".to_vec()))
        .route("/large", typed("text/plain", vec![b'a'; (4 << 20) + 1]))
        .route("/empty", typed("text/html", b"<script>x</script>".to_vec()))
        .route("/gone", get(|| async { (StatusCode::GONE, Html("<p>it <em>was</em> here")).into_response() }));
    let place = serve(routes).await;
    let (bench, fetcher) = (Bench::new(), listing(&place));
    let get = async |path: &str| said(&bench, &fetcher, json!({"url": format!("http://{place}{path}")})).await;
    assert!(get("/png").await.ends_with("is image/png, which cannot be shown as text."));
    assert!(get("/json").await.ends_with("\n\n{\"a\": 1}"));
    assert!(get("/latin").await.ends_with("café"));
    assert!(get("/sniffed").await.ends_with("При"));
    assert!(get("/large").await.contains("Only the beginning of this page was read"));
    assert!(get("/empty").await.ends_with("(The page has no text.)"));
    let gone = get("/gone").await;
    assert!(gone.contains("answers 410 Gone.") && gone.ends_with("it was here"), "{gone}");
}

#[tokio::test]
async fn a_page_is_kept_for_a_while() {
    let asked = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = asked.clone();
    let page = move || {
        let nth = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        async move { format!("page {nth}") }
    };
    let place = serve(Router::new().route("/", get(page))).await;
    let (bench, fetcher) = (Bench::new(), listing(&place));
    let url = format!("http://{place}/");
    for _ in 0..3 {
        assert!(said(&bench, &fetcher, json!({"url": url})).await.ends_with("page 0"));
    }
    assert!(said(&bench, &fetcher, json!({"url": format!("{url}?x")})).await.ends_with("page 1"));
}

fn written(html: &str) -> String {
    markdown(html, &"https://example.com/docs/".parse().unwrap()).text
}

#[test]
fn a_page_is_written_as_people_would() {
    let page = "<nav>skip <a href='#x'>me</a></nav><h2>A  <code>b</code> c</h2>\n<p>one\ntwo <b>three</b>, <a \
                href='../x?q=1'>link</a>.<br>next<ul><li>first<li>second<ol><li>inner</ol><li>third</ul><pre>  a\n    \
                b</pre><blockquote><p>said<p>more</blockquote><table><tr><th>k<th>v<tr><td>1<td>x <i>y</i></table>\
                <img alt='a picture' src=x><hr>&lt;end&gt; &amp; 1 2";
    insta::assert_snapshot!(written(page), @r"
    skip me

    ## A `b` c

    one two three, [link](https://example.com/x?q=1).
    next

    - first
    - second
      1. inner
    - third

    ```
      a
        b
    ```

    > said

    > more

    | k | v |
    |---|---|
    | 1 | x y |

    [image: a picture]

    ---

    <end> & 1 2
    ");
}

#[test]
fn what_a_browser_hides_is_left_out() {
    for hidden in [
        "<script>HIDDEN</script>",
        "<style>HIDDEN</style>",
        "<div hidden><div>x</div>HIDDEN</div>",
        "<p style='display: none'>HIDDEN</p>",
        "<span style='VISIBILITY:hidden'>HIDDEN</span>",
        "<!-- HIDDEN -->",
        "<div aria-hidden=true>HIDDEN</div>",
        "<svg><title>HIDDEN</title></svg>",
        "<template>HIDDEN</template>",
        "<p hidden>HIDDEN<p>",
        "<li hidden>HIDDEN<li>",
        "<textarea>HIDDEN</textarea>",
        "<p style='opacity:0'>HIDDEN</p>",
        "<p style='opacity: 0.0 !important'>HIDDEN</p>",
        "<span style='font-size:0px'>HIDDEN</span>",
        "<span style='font:0/0 a'>HIDDEN</span>",
        "<div style='position:absolute; left:-9999px'>HIDDEN</div>",
        "<div style='position: fixed; top: -200em'>HIDDEN</div>",
        "<div style='text-indent:-9999px'>HIDDEN</div>",
        "<div style='width:0;height:0;overflow:hidden'>HIDDEN</div>",
        "<div style='position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0, 0, 0, 0)'>HIDDEN</div>",
        "<div style='clip-path: inset(50%)'>HIDDEN</div>",
        "<div style='transform: scale(0)'>HIDDEN</div>",
        "<p style='color:#fff;background:white'>HIDDEN</p>",
        "<p style='color: rgb(255, 255, 255); background-color:#ffffff'>HIDDEN</p>",
        "<p style='color:transparent'>HIDDEN</p>",
        "<p style='color:rgba(0,0,0,0)'>HIDDEN</p>",
        "<style>.h{display:none}</style><p class='a h'>HIDDEN</p>",
        "<style>/* x */ p.h, .k { visibility : hidden }</style><p class=h>HIDDEN</p>",
        "<p class=late>HIDDEN</p><style>.late{opacity:0}</style>",
        "<style>#off{position:absolute}.far{left:-5000px}</style><div id=off class=far>HIDDEN</div>",
        "<style>.a.b{display:none}</style><div class='b a'>HIDDEN</div>",
        "<style>@media screen{.s{display:none}}</style><div class=s>HIDDEN</div>",
        "<style>.w{color:white;background-color:#FFF}</style><b class=w>HIDDEN</b>",
    ] {
        let text = written(&format!("<p>before</p>{hidden}<p>after</p>"));
        assert!(!text.contains("HIDDEN") && text.contains("before") && text.contains("after"), "{hidden}: {text}");
    }
    let part = format!("<div>menu</div><main><p>{}</main><footer>feet</footer>", "text ".repeat(60));
    let text = written(&part);
    assert!(text.starts_with("text text") && !text.contains("feet"), "{text}");
}

#[test]
fn what_a_browser_shows_is_kept() {
    for shown in [
        "<p style='opacity:0.5'>SHOWN</p>",
        "<ul style='font-size:0'><li>SHOWN</ul>",
        "<div style='position:absolute;left:-20px'>SHOWN</div>",
        "<div style='left:-9999px'>SHOWN</div>",
        "<p style='color:white;background:black'>SHOWN</p>",
        "<p style='color:white'>SHOWN</p>",
        "<style>.h{display:none}.h{display:block}</style><p class=h>SHOWN</p>",
        "<style>.h{display:none}</style><p class=h style='display:block'>SHOWN</p>",
        "<style>@media print{.h{display:none}}</style><p class=h>SHOWN</p>",
        "<style>@media (max-width: 600px){.h{display:none}.k{opacity:0}}</style><p class=h>SHOWN</p>",
        "<style media=print>.h{display:none}</style><p class=h>SHOWN</p>",
        "<style>.menu .h{display:none}.h:hover{display:none}.h>p{opacity:0}</style><p class=h>SHOWN</p>",
        "<style>div.h{display:none}.a.h{display:none}</style><p class=h>SHOWN</p>",
        "<style>.h{display:none</style><p class=k>SHOWN</p>",
        "<style>}}{{;;.x{</style><p class=x>SHOWN</p>",
    ] {
        let text = written(&format!("<p>before</p>{shown}<p>after</p>"));
        assert!(text.contains("SHOWN") && text.contains("after"), "{shown}: {text}");
    }
}

#[tokio::test]
async fn signs_that_nobody_sees_do_not_reach_the_model() {
    let hostile = "a\u{1b}[31mb\u{9b}2Jc\u{202e}d\u{200b}e\u{e0041}\u{e0042}f\0g\u{feff}h";
    let page = format!("<title>T\u{202e}\u{e0041}</title><p>{hostile}</p>");
    let plain = hostile.to_owned();
    let routes = Router::new()
        .route("/page", get(move || async { Html(page) }))
        .route("/plain", get(move || async { ([(header::CONTENT_TYPE, "text/plain")], plain) }));
    let place = serve(routes).await;
    let (bench, fetcher) = (Bench::new(), listing(&place));
    for end in ["page", "plain"] {
        let said = said(&bench, &fetcher, json!({"url": format!("http://{place}/{end}")})).await;
        let is_odd = |c: char| {
            c.is_control() && c != '\n' || matches!(c, '\u{200b}'..='\u{202e}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
        };
        assert!(!said.chars().any(is_odd), "{said:?}");
        assert!(said.contains('a') && said.contains("gh"), "{said:?}");
    }
}

#[test]
fn a_page_of_control_characters_costs_no_more_than_another() {
    for sign in ["\0", "\u{1}", "\u{7f}", "\u{80}"] {
        let text = written(&format!("<p>before{}after", sign.repeat(4 << 20)));
        assert_eq!(text.trim(), "beforeafter");
    }
    let rules = "<style>".to_owned() + &".a{display:none}".repeat(100_000) + "</style>";
    assert!(written(&format!("{rules}{}end", "<p class=a>x".repeat(30_000))).contains("end"));
}

#[test]
fn nested_tags_without_end_do_no_harm() {
    for tag in ["<div>", "<b>", "<ul><li>", "<table><tr><td>", "<blockquote>", "<p><a href=x>", "<font a=1><b>"] {
        let text = written(&format!("{}end", tag.repeat(30_000)));
        assert!(text.contains("end") && text.len() < 5 << 20, "{tag}: {} bytes", text.len());
    }
}
