//! Ports whose connections go to several event loops.

use std::{
    io,
    net::IpAddr,
    os::fd::{AsRawFd, IntoRawFd},
    sync::Arc,
};

use napi::{
    Env, Result, Status,
    bindgen_prelude::Object,
    threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode},
};
use napi_derive::napi;
use vectord_acceptor::{Acceptor, Connection, Watch};

use crate::{error::fault, on_thread, shared::Shared};

static ACCEPTORS: Shared<Acceptor> = Shared::new();

/// An accepted connection. It takes one of the places of its port until `end`.
#[napi]
pub struct AcceptedConnection {
    connection: Option<Connection>,
}

#[napi]
impl AcceptedConnection {
    /// The IP address of the client.
    #[napi(getter, catch_unwind)]
    pub fn remote_address(&self) -> Option<String> {
        let connection = self.connection.as_ref()?;
        Some(connection.address().to_string())
    }

    /// The file descriptor of the socket, until it is taken.
    #[napi(getter, catch_unwind)]
    pub fn fd(&self) -> Result<i32> {
        let stream = self.connection.as_ref().and_then(Connection::stream);
        let stream = stream.ok_or_else(|| fault("the connection is taken, or has ended"))?;
        Ok(stream.as_raw_fd())
    }

    /// Leaves it to the caller to close the socket, before it calls `end`.
    #[napi(catch_unwind)]
    pub fn take(&mut self) {
        let stream = self.connection.as_mut().and_then(Connection::take);
        let _ = stream.map(IntoRawFd::into_raw_fd);
    }

    /// Frees the place, and closes the socket unless it was taken.
    #[napi(catch_unwind)]
    pub fn end(&mut self) {
        self.connection = None;
    }
}

/// A connection that no loop gets, or a failure to accept one.
#[napi(object)]
pub struct Refusal {
    /// The address of a client whose connection was closed, because as many as allowed are open.
    pub address: Option<String>,
    /// Why nothing could be accepted.
    pub failure: Option<String>,
}

type OnConnection = ThreadsafeFunction<AcceptedConnection, (), AcceptedConnection, Status, false>;
type OnRefusal = ThreadsafeFunction<Refusal, (), Refusal, Status, false>;

/// A port whose connections go to several event loops: each to the loop that has the fewest.
#[napi]
pub struct NativeAcceptor {
    acceptor: Arc<Acceptor>,
}

#[napi]
impl NativeAcceptor {
    /// Binds `host:port`, where port 0 is any free one. `most` connections may be open at a time.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeAcceptor>")]
    pub fn bind(env: &Env, host: String, port: u16, most: u32) -> Result<Object<'_>> {
        on_thread(
            env,
            move || Acceptor::bind(&host, port, most as usize),
            |acceptor| NativeAcceptor {
                acceptor: Arc::new(acceptor),
            },
        )
    }

    /// The acceptor that another loop has shared under this number.
    #[napi(factory, catch_unwind)]
    pub fn shared(number: u32) -> Result<NativeAcceptor> {
        Ok(NativeAcceptor {
            acceptor: ACCEPTORS.find(number)?,
        })
    }

    /// A number for `shared`.
    #[napi(catch_unwind)]
    pub fn share(&self) -> u32 {
        ACCEPTORS.share(&self.acceptor)
    }

    /// The IP address that is bound.
    #[napi(getter, catch_unwind)]
    pub fn address(&self) -> String {
        self.acceptor.address().ip().to_string()
    }

    /// The port that is bound.
    #[napi(getter, catch_unwind)]
    pub fn port(&self) -> u16 {
        self.acceptor.address().port()
    }

    /// Whether as many connections are open as may be.
    #[napi(getter, catch_unwind)]
    pub fn is_full(&self) -> bool {
        self.acceptor.is_full()
    }

    /// Makes the calling loop one of those that get connections. It stays alive until `close`.
    #[napi(catch_unwind)]
    pub fn receive(
        &self,
        #[napi(ts_arg_type = "(connection: AcceptedConnection) => void")]
        on_connection: OnConnection,
    ) {
        self.acceptor.add_loop(move |connection| {
            let connection = Some(connection);
            // A loop that has ended drops the connection, which closes it.
            let _ = on_connection.call(
                AcceptedConnection { connection },
                ThreadsafeFunctionCallMode::NonBlocking,
            );
        });
    }

    /// Begins to accept. `on_refusal` is called for each connection that no loop gets.
    #[napi(catch_unwind)]
    pub fn start(
        &self,
        #[napi(ts_arg_type = "(refusal: Refusal) => void")] on_refusal: OnRefusal,
    ) -> Result<()> {
        let started = self.acceptor.start(Refusals(on_refusal));
        started.map_err(|error| fault(&error.to_string()))
    }

    /// Accepts nothing more and closes the port. Connections stay open.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.acceptor.close();
    }
}

struct Refusals(OnRefusal);

impl Refusals {
    fn tell(&self, address: Option<String>, failure: Option<String>) {
        let _ = self.0.call(
            Refusal { address, failure },
            ThreadsafeFunctionCallMode::NonBlocking,
        );
    }
}

impl Watch for Refusals {
    fn refused(&self, address: IpAddr) {
        self.tell(Some(address.to_string()), None);
    }

    fn failed(&self, error: &io::Error) {
        self.tell(None, Some(error.to_string()));
    }
}
