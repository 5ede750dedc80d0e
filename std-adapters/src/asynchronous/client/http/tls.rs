//! TLS over any connection.

use std::io::{self, ErrorKind};
use std::sync::{Arc, OnceLock};

use futures_rustls::TlsConnector;
use futures_rustls::pki_types::ServerName;
use futures_rustls::rustls::crypto::ring;
use futures_rustls::rustls::{AlertDescription, CertificateError, ClientConfig, Error as TlsError};
use mcp_sansio::Printable;
use rustls_platform_verifier::BuilderVerifierExt as _;

use super::connector::{Connect, Dial, TcpConnector};
use crate::runtime::{BoxedStream, unblock};

/// Connects with TLS 1.2 or 1.3 to servers whose URL starts with `https://`, and without TLS to
/// others. It is the connector of [`HttpTransport::new`](super::HttpTransport::new).
///
/// By default a certificate is checked as the operating system does. On Linux that is a list of
/// certificates, which is read once in a process; `SSL_CERT_FILE` and `SSL_CERT_DIR` name others.
#[derive(Clone)]
#[must_use]
pub struct Tls<C = TcpConnector> {
    config: Option<Arc<ClientConfig>>,
    connector: C,
}

impl Tls {
    /// Creates a connector over TCP that trusts the certificates that the operating system trusts.
    pub const fn new() -> Self {
        Self { config: None, connector: TcpConnector }
    }

    /// Creates a connector over TCP with a configuration of rustls 0.23: for certificates of an own
    /// authority, client certificates, or another provider of cryptography. Its ALPN protocols are
    /// replaced by `http/1.1`.
    ///
    /// ```no_run
    /// use std::sync::Arc;
    ///
    /// use mcp_sansio_adapters::asynchronous::client::http::{HttpTransport, Tls, rustls};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut roots = rustls::RootCertStore::empty();
    /// roots.add(std::fs::read("authority.der")?.into())?;
    /// let provider = Arc::new(rustls::crypto::ring::default_provider());
    /// let config = rustls::ClientConfig::builder_with_provider(provider)
    ///     .with_safe_default_protocol_versions()?
    ///     .with_root_certificates(roots)
    ///     .with_no_client_auth();
    /// let http = HttpTransport::with_connector("https://host/mcp", Tls::with_config(config))?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_config(config: ClientConfig) -> Self {
        Self { config: Some(http(config)), ..Self::new() }
    }
}

impl<C> Tls<C> {
    /// Makes its connections with `connector` instead of over TCP. That gets each [`Dial`] without
    /// [`is_secure`](Dial::is_secure).
    pub fn over<D: Connect>(self, connector: D) -> Tls<D> {
        Tls { config: self.config, connector }
    }
}

mcp_sansio::default_is_new!(Tls);

impl<C: Connect> Connect for Tls<C> {
    type Stream = BoxedStream;

    async fn connect(&self, dial: Dial) -> io::Result<BoxedStream> {
        if !dial.is_secure {
            return Ok(Box::new(self.connector.connect(dial).await?));
        }
        let host = dial.host.clone();
        let name = ServerName::try_from(host.clone()).map_err(|_| {
            let message = "the host of the URL is no name that a certificate can have";
            io::Error::new(ErrorKind::InvalidInput, message)
        })?;
        let config = match &self.config {
            Some(config) => Arc::clone(config),
            None => unblock(of_the_system).await?,
        };
        let stream = self.connector.connect(Dial { is_secure: false, ..dial }).await?;
        let stream = TlsConnector::from(config).connect(name, stream).await;
        Ok(Box::new(stream.map_err(|error| explained(&host, error))?))
    }
}

mcp_sansio::opaque_debug!([C] Tls<C> {});

/// Returns the configuration that trusts what the operating system trusts. All connections share
/// it, so that they can resume the sessions of others.
fn of_the_system() -> io::Result<Arc<ClientConfig>> {
    static SYSTEM: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    if let Some(config) = SYSTEM.get() {
        return Ok(Arc::clone(config));
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|config| config.with_platform_verifier())
        .map_err(|error| {
            let advice = "install the package of CA certificates, or use Tls::with_config";
            io::Error::new(ErrorKind::NotFound, format!("{error}: {advice}"))
        })?;
    Ok(Arc::clone(SYSTEM.get_or_init(|| http(config.with_no_client_auth()))))
}

/// HTTP/1.1 is the protocol of the transport.
fn http(mut config: ClientConfig) -> Arc<ClientConfig> {
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(config)
}

/// Says what to do about a handshake that failed.
fn explained(host: &str, error: io::Error) -> io::Error {
    let kind = error.kind();
    let Some(cause) = error.get_ref().and_then(|inner| inner.downcast_ref::<TlsError>()) else {
        if kind == ErrorKind::UnexpectedEof {
            let message = "the server ended the connection during the TLS handshake: it may expect \
                 a URL that starts with http://, or another port";
            return io::Error::new(kind, message);
        }
        return error;
    };
    let message = match cause {
        TlsError::InvalidCertificate(certificate) => {
            format!("the certificate of {host} is not accepted: {}", why(certificate))
        }
        TlsError::InvalidMessage(_) => {
            "the server does not respond with TLS: the URL may have to start with http://, or to \
             have another port"
                .to_owned()
        }
        TlsError::AlertReceived(AlertDescription::NoApplicationProtocol) => {
            "the server does not support HTTP/1.1: enable it there, or use a proxy".to_owned()
        }
        TlsError::AlertReceived(AlertDescription::ProtocolVersion)
        | TlsError::PeerIncompatible(_) => {
            format!("the server does not support TLS 1.2 or 1.3 as this program does: {cause}")
        }
        other => format!("TLS handshake: {}", Printable::new(other)),
    };
    io::Error::new(kind, message)
}

fn why(error: &CertificateError) -> String {
    match error {
        CertificateError::ExpiredContext { time, not_after } => {
            let days = time.as_secs().saturating_sub(not_after.as_secs()) / DAY;
            format!(
                "it has expired {days} days ago; its operator has to renew it, unless the clock of \
                 this computer is wrong"
            )
        }
        CertificateError::Expired => "it has expired; its operator has to renew it".to_owned(),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "it is not valid yet; the clock of this computer may be wrong".to_owned()
        }
        CertificateError::UnknownIssuer => "its issuer is unknown; if you trust it, install the \
             issuer's certificate in the operating system, or pass it to Tls::with_config"
            .to_owned(),
        CertificateError::NotValidForNameContext { presented, .. } => {
            let names: String = presented.join(", ").chars().take(NAMES).collect();
            format!("it is for another host ({}); check the URL", Printable::new(names))
        }
        CertificateError::NotValidForName => "it is for another host; check the URL".to_owned(),
        CertificateError::Revoked => "it has been revoked".to_owned(),
        other => Printable::new(other).to_string(),
    }
}

/// Seconds of a day.
const DAY: u64 = 24 * 60 * 60;
/// Maximum length of the names of a certificate in an error, in characters.
const NAMES: usize = 200;
