//! Spans and events of the blocking server.

use std::fmt::{self, Write as _};
use std::io::Cursor;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use mcp_sansio::types::{Implementation, TextResult, Tool};
use mcp_sansio::{Catalog, RawJson, ServerConfig, ServerFeatures, entries};
use mcp_sansio_adapters::blocking::{App, Threaded};
use mcp_sansio_adapters::observer::TracingObserver;
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

static CONFIG: ServerConfig =
    ServerConfig::new(Implementation::new("server", "1"), ServerFeatures::TOOLS);
const SCHEMA: RawJson = RawJson::from_static(r#"{"type":"object"}"#);
static CATALOG: Catalog =
    Catalog::new().tools(entries![Tool::new("say", SCHEMA), Tool::new("panic", SCHEMA)]);

/// Writes down spans and events from a level on, without connections' numbers and times.
#[derive(Clone)]
struct Log {
    level: Level,
    spans: Arc<AtomicU64>,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Log {
    fn write(&self, line: String) {
        self.lines.lock().unwrap().push(line);
    }
}

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if !matches!(field.name(), "connection" | "after" | "took") {
            write!(self.0, " {}={value:?}", field.name()).unwrap();
        }
    }
}

fn fields(record: impl FnOnce(&mut Fields)) -> String {
    let mut fields = Fields(String::new());
    record(&mut fields);
    fields.0
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.spans.fetch_add(1, Relaxed) + 1;
        let name = span.metadata().name();
        self.write(format!("{id}: {name}{}", fields(|to| span.record(to))));
        Id::from_u64(id)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        self.write(format!("{}:{}", span.into_u64(), fields(|to| values.record(to))));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let parent = event.parent().map_or("-".to_owned(), |parent| parent.into_u64().to_string());
        let level = event.metadata().level();
        self.write(format!("{parent}: {level}{}", fields(|to| event.record(to))));
    }

    fn enter(&self, span: &Id) {
        self.write(format!("{}: enter", span.into_u64()));
    }

    fn exit(&self, span: &Id) {
        self.write(format!("{}: exit", span.into_u64()));
    }

    fn try_close(&self, span: Id) -> bool {
        self.write(format!("{}: drop", span.into_u64()));
        true
    }
}

fn logged(level: Level) -> Vec<String> {
    let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let calls = [("say", "traceparent", traceparent), ("panic", "tracestate", "a=1")];
    let lines: String = (1..)
        .zip(calls)
        .map(|(id, (name, key, trace))| {
            let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {}, key: trace});
            let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
                "params": {"name": name, "_meta": meta}});
            format!("{request}\n")
        })
        .collect();
    let log = Log { level, spans: Arc::default(), lines: Arc::default() };
    tracing::subscriber::with_default(log.clone(), || {
        let app = App::new(&CONFIG).catalog(&CATALOG);
        let input = Threaded::new(Cursor::new(lines + "noise\n"));
        app.observer(TracingObserver::default()).serve_on(input, Vec::new(), |ctx| {
            match ctx.request()?.name().is_some_and(|name| name == "say") {
                true => {
                    tracing::info!("in the handler");
                    ctx.respond(&TextResult::new("said"))
                }
                false => panic!("a bug\u{1b}"),
            }
        })
    })
    .unwrap();
    log.lines.lock().unwrap().clone()
}

#[test]
fn a_request_is_a_span_and_the_rest_are_events() {
    let lines = logged(Level::DEBUG);
    // Handles of spans are dropped in an order that does not matter.
    let lines: Vec<&String> = lines.iter().filter(|line| !line.ends_with("drop")).collect();
    assert_eq!(
        lines,
        [
            "-: DEBUG message=connected transport=stream",
            "1: mcp.request method=tools/call name=say id=1 traceparent=\
             \"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\"",
            "1: enter",
            "-: INFO message=in the handler",
            "1: exit",
            "1: INFO message=tools/call say (id 1): responded",
            "1: outcome=responded",
            "1: failed=false",
            "2: mcp.request method=tools/call name=panic id=2 tracestate=\"a=1\"",
            "2: enter",
            "2: exit",
            "2: ERROR message=tools/call panic (id 2): panicked error=a bug\\u001b",
            "2: outcome=panicked",
            "2: failed=true",
            "-: WARN message=refused why=Parse error: the message is not JSON: on a stream it takes one line place=byte 1 of \"noise\"",
            "-: DEBUG message=disconnected how=closed by the client",
        ]
    );
}

#[test]
fn an_event_names_its_request_where_the_span_is_left_out() {
    assert_eq!(
        logged(Level::WARN),
        [
            "-: ERROR message=tools/call panic (id 2): panicked error=a bug\\u001b",
            "-: WARN message=refused why=Parse error: the message is not JSON: on a stream it takes one line place=byte 1 of \"noise\"",
        ]
    );
}
