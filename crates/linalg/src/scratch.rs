//! Workspace memory in the form faer takes it.

use faer::dyn_stack::{MemBuffer, MemStack, StackReq};

/// Memory lent to faer; grows when asked for more.
#[derive(Default)]
pub(crate) struct Scratch {
    buffer: Option<MemBuffer>,
    bytes: usize,
}

impl std::fmt::Debug for Scratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Scratch({} bytes)", self.bytes)
    }
}

impl Scratch {
    /// Makes sure that at least this much is there.
    pub(crate) fn reserve(&mut self, request: StackReq) {
        let bytes = request.unaligned_bytes_required();
        if self.buffer.is_none() || bytes > self.bytes {
            self.buffer = Some(MemBuffer::new(request));
            self.bytes = bytes;
        }
    }

    /// The memory as faer wants it. Call [`Scratch::reserve`] before.
    pub(crate) fn stack(&mut self) -> &mut MemStack {
        MemStack::new(
            self.buffer
                .get_or_insert_with(|| MemBuffer::new(StackReq::EMPTY)),
        )
    }
}
