//! One future that several others wait for.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use super::login::lock;

/// A future that is polled by all who wait for it, and dropped with the last of them. They get the
/// same result, an error as text.
pub(super) struct Flight {
    inner: Mutex<Inner>,
    waiting: Arc<Waiting>,
}

enum Inner {
    Running(Pin<Box<dyn Future<Output = io::Result<()>> + Send>>),
    Over(Result<(), Arc<str>>),
}

impl Flight {
    pub(super) fn new(future: impl Future<Output = io::Result<()>> + Send + 'static) -> Self {
        Self { inner: Mutex::new(Inner::Running(Box::pin(future))), waiting: Arc::default() }
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(*lock(&self.inner), Inner::Over(_))
    }

    /// Waits for the result.
    pub(super) async fn wait(&self) -> Result<(), String> {
        let over = poll_fn(|cx| {
            let mut inner = lock(&self.inner);
            let future = match &mut *inner {
                Inner::Running(future) => future,
                Inner::Over(result) => return Poll::Ready(result.clone()),
            };
            self.waiting.add(cx.waker());
            let waker = Waker::from(Arc::clone(&self.waiting));
            let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
            let Poll::Ready(result) = polled else { return Poll::Pending };
            let result = result.map_err(|error| error.to_string().into());
            *inner = Inner::Over(result.clone());
            drop(inner);
            self.waiting.wake_by_ref();
            Poll::Ready(result)
        });
        over.await.map_err(|error: Arc<str>| error.to_string())
    }
}

/// The tasks that wait.
#[derive(Default)]
struct Waiting(Mutex<Vec<Waker>>);

impl Waiting {
    fn add(&self, waker: &Waker) {
        let mut wakers = lock(&self.0);
        if !wakers.iter().any(|other| other.will_wake(waker)) {
            wakers.push(waker.clone());
        }
    }
}

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let wakers = std::mem::take(&mut *lock(&self.0));
        wakers.into_iter().for_each(Waker::wake);
    }
}
