//! A program that PyTorch has loaded within this process already: it is asked by a call.

use std::fmt;
use std::sync::Arc;
use std::vec;

/// The source of answers: the messages that a process of Python would write, in their order.
type Answering = dyn Fn(Vec<u8>) -> Result<Vec<Vec<u8>>, String> + Send + Sync;

/// Runs the program, whose memory it shares. Requests and answers are those of `program.py`.
#[derive(Clone)]
pub struct InProcess(Arc<Answering>);

impl InProcess {
    /// Lets `answer` run the program.
    pub fn new(answer: impl Fn(Vec<u8>) -> Result<Vec<Vec<u8>>, String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(answer))
    }

    /// The answer to `request`.
    ///
    /// # Errors
    /// A sentence where nothing is.
    pub(super) fn ask(&self, request: Vec<u8>) -> Result<vec::IntoIter<Vec<u8>>, String> {
        (self.0)(request).map(Vec::into_iter)
    }
}

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InProcess")
    }
}
