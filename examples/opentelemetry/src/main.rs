//! A server on standard input and output whose requests are spans of OpenTelemetry, below the spans
//! of its clients, and lines of a log.
//!
//! A server of yours has the exporter of `opentelemetry-otlp` in place of [`Print`].

use mcp_sansio::typed::{ToolHandler, Tools};
use mcp_sansio::types::Implementation;
use mcp_sansio::{Catalog, NoOutput, ServerConfig, ServerFeatures, ToolContext, ToolResult};
use mcp_sansio_adapters::blocking::{App, Error, RequestContext};
use mcp_sansio_adapters::observer::{RequestInfo, TracingObserver};
use opentelemetry::propagation::{Extractor, TextMapPropagator as _};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use tracing::level_filters::LevelFilter;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::layer::SubscriberExt as _;

static CONFIG: ServerConfig =
    ServerConfig::new(Implementation::new("calculator", "0.1.0"), ServerFeatures::TOOLS);
static CATALOG: Catalog = Catalog::new().tools_of::<Call>();

#[derive(Tools)]
enum Call {
    /// Divides two numbers
    Divide { a: u32, b: u32 },
}

struct Calculator;

impl ToolHandler for Calculator {
    type Tools = Call;
    type Output<'a> = NoOutput;

    fn call<'a>(&mut self, call: Call, _: ToolContext<'a>) -> ToolResult<'a> {
        let Call::Divide { a, b } = call;
        // A span of the tool is below that of the request.
        let _span = tracing::info_span!("divide", a, b).entered();
        Ok(a.checked_div(b).ok_or("division by zero")?.to_string().into())
    }
}

fn respond(ctx: &mut RequestContext<'_, '_>) -> Result<(), Error> {
    ctx.call_tool(&mut Calculator)
}

fn app() -> App<'static> {
    let observer = TracingObserver::default().on_span(|request, span| {
        let client = TraceContextPropagator::new().extract(&Trace(request));
        // Fails where no layer exports the span.
        let _ = span.set_parent(client);
    });
    App::new(&CONFIG).catalog(&CATALOG).observer(observer)
}

/// The trace context that a client has sent in `_meta`.
struct Trace<'r>(&'r RequestInfo);

impl Extractor for Trace<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        match key {
            "traceparent" => self.0.traceparent.as_deref(),
            "tracestate" => self.0.tracestate.as_deref(),
            _ => None,
        }
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent", "tracestate"]
    }
}

fn subscriber(provider: &SdkTracerProvider) -> impl tracing::Subscriber + Send + Sync + use<> {
    let spans = tracing_opentelemetry::layer().with_tracer(provider.tracer("calculator"));
    // Standard output is for the client.
    let lines = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(std::io::stderr);
    tracing_subscriber::registry().with(spans).with(lines).with(LevelFilter::INFO)
}

/// Prints spans.
#[derive(Debug)]
struct Print;

impl SpanExporter for Print {
    async fn export(&self, spans: Vec<SpanData>) -> OTelSdkResult {
        for span in spans {
            let (context, parent) = (&span.span_context, span.parent_span_id);
            let (trace, id) = (context.trace_id(), context.span_id());
            eprintln!("span {} {id} below {parent} in {trace}", span.name);
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let provider = SdkTracerProvider::builder().with_simple_exporter(Print).build();
    tracing::subscriber::set_global_default(subscriber(&provider))?;
    app().serve(respond)?;
    provider.shutdown()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use mcp_sansio_adapters::blocking::Threaded;
    use opentelemetry_sdk::trace::InMemorySpanExporter;

    use super::*;

    #[test]
    fn a_request_is_a_span_below_that_of_its_client() {
        let exporter = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
        let request = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{
            "name":"divide","arguments":{"a":6,"b":3},"_meta":{
            "io.modelcontextprotocol/protocolVersion":"2026-07-28",
            "io.modelcontextprotocol/clientCapabilities":{},
            "traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}}"#;
        let input = Threaded::new(Cursor::new(request.replace('\n', "") + "\n"));
        let mut output = Vec::new();
        tracing::subscriber::with_default(subscriber(&provider), || {
            app().serve_on(input, &mut output, respond)
        })
        .unwrap();
        assert!(String::from_utf8(output).unwrap().contains(r#""text":"2""#));
        let spans = exporter.get_finished_spans().unwrap();
        let [tool, request] = &spans[..] else { panic!("{spans:?}") };
        assert_eq!((&*tool.name, &*request.name), ("divide", "mcp.request"));
        for span in [tool, request] {
            let trace = span.span_context.trace_id().to_string();
            assert_eq!(trace, "0af7651916cd43dd8448eb211c80319c");
        }
        assert_eq!(request.parent_span_id.to_string(), "b7ad6b7169203331");
        assert_eq!(tool.parent_span_id, request.span_context.span_id());
        let outcome = request.attributes.iter().find(|it| it.key.as_str() == "outcome").unwrap();
        assert_eq!(outcome.value.as_str(), "responded");
    }
}
