//! An authority, and a server with a certificate of it.

use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use futures_rustls::TlsAcceptor;
use mcp_sansio::http::server::HostPolicy;
use mcp_sansio::types::{Implementation, TextResult, Tool};
use mcp_sansio::{Catalog, RawJson, ServerConfig, ServerFeatures, entries};
use mcp_sansio_adapters::asynchronous::client::http::{BoxedStream, rustls};
use mcp_sansio_adapters::asynchronous::http::{self, HttpOptions};
use mcp_sansio_adapters::asynchronous::{App, Context};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use rustls::client::WantsClientCert;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, ServerConfig as TlsConfig};
use smol::Async;

use crate::door::Door;

/// A certificate with its key.
pub(crate) type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        // Each has a name of its own.
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("authority {}", NUMBER.fetch_add(1, Ordering::Relaxed));
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Self(CertifiedIssuer::self_signed(params, key).unwrap())
    }

    /// Issues a certificate for these hosts.
    pub(crate) fn issue(&self, hosts: &[&str]) -> Identity {
        self.issue_for(hosts, 2020, 2999)
    }

    /// Issues one that is valid between the beginnings of these years.
    pub(crate) fn issue_for(&self, hosts: &[&str], from: i32, until: i32) -> Identity {
        let names: Vec<String> = hosts.iter().map(|&host| host.to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.not_before = date_time_ymd(from, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        let key = PrivatePkcs8KeyDer::from(key.serialize_der());
        (vec![certificate.der().clone()], key.into())
    }

    /// Its own certificate, as operating systems keep them.
    #[cfg(all(unix, not(target_vendor = "apple")))]
    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).unwrap();
        roots
    }
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Begins the configuration of a client that trusts this authority.
pub(crate) fn trusting(authority: &Authority) -> ConfigBuilder<ClientConfig, WantsClientCert> {
    ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(authority.roots())
}

/// A server with one tool, on a thread that ends with the process.
pub(crate) struct Server {
    pub(crate) port: u16,
    protocols: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) fn start(identity: Identity, protocols: &[&str]) -> Self {
        let config = TlsConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(identity.0, identity.1);
        Self::with(Some(config.unwrap()), protocols)
    }

    pub(crate) fn for_certified_clients(identity: Identity, authority: &Authority) -> Self {
        let roots = Arc::new(authority.roots());
        let clients = WebPkiClientVerifier::builder_with_provider(roots, provider());
        let config = TlsConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(clients.build().unwrap())
            .with_single_cert(identity.0, identity.1);
        Self::with(Some(config.unwrap()), &["http/1.1"])
    }

    pub(crate) fn without_tls() -> Self {
        Self::with(None, &[])
    }

    fn with(config: Option<TlsConfig>, protocols: &[&str]) -> Self {
        let config = config.map(|mut config| {
            config.alpn_protocols =
                protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
            TlsAcceptor::from(Arc::new(config))
        });
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let protocols = Arc::default();
        let spoken = Arc::clone(&protocols);
        std::thread::spawn(move || {
            let streams = Door::default();
            let executor = smol::LocalExecutor::new();
            executor.spawn(accept(listener, config, spoken, streams.clone())).detach();
            let app = App::new(&CONFIG, greet).catalog(&CATALOG);
            // The client of a test chooses the name.
            let options = HttpOptions { host_policy: HostPolicy::ANY_HOST, ..HttpOptions::new() };
            smol::block_on(executor.run(http::serve(&app, streams, options)))
        });
        Self { port, protocols }
    }

    pub(crate) fn url(&self, host: &str) -> String {
        format!("https://{host}:{}/mcp", self.port)
    }

    /// The protocols that were agreed upon, one for each handshake that has succeeded.
    pub(crate) fn protocols(&self) -> Vec<String> {
        self.protocols.lock().unwrap().clone()
    }
}

async fn accept(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    spoken: Arc<Mutex<Vec<String>>>,
    streams: Door<BoxedStream>,
) {
    let listener = Async::<TcpListener>::new(listener).unwrap();
    loop {
        let (tcp, _): (Async<TcpStream>, _) = listener.accept().await.unwrap();
        let stream: BoxedStream = match &tls {
            None => Box::new(tcp),
            // The client reports why a handshake fails.
            Some(tls) => match tls.accept(tcp).await {
                Err(_) => continue,
                Ok(stream) => {
                    let protocol = stream.get_ref().1.alpn_protocol().unwrap_or_default();
                    let protocol = String::from_utf8(protocol.to_vec()).unwrap();
                    spoken.lock().unwrap().push(protocol);
                    Box::new(stream)
                }
            },
        };
        streams.enter(stream, None);
    }
}

static CONFIG: ServerConfig<'_> =
    ServerConfig::new(Implementation::new("tls", "1"), ServerFeatures::TOOLS);
static CATALOG: Catalog<'_> = Catalog::new()
    .tools(entries![Tool::new("greet", RawJson::from_static(r#"{"type":"object"}"#))]);

async fn greet(ctx: Context) -> mcp_sansio_adapters::asynchronous::HandlerResult {
    ctx.reply(&TextResult::new("Hello over TLS"))
}
