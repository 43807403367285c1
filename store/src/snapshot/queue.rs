//! Work that makes more work, shared by a few threads.

use std::sync::{
    Condvar, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

/// Items to work on. What an item brings stays with its thread until another one has nothing to do.
pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    /// Threads that wait for items.
    idle: AtomicUsize,
    /// Set once a thread failed.
    stopped: AtomicBool,
}

struct State<T> {
    items: Vec<T>,
    /// Threads that are working, and may bring more.
    busy: usize,
}

/// Lets nobody wait for a thread that panicked.
struct StopsOnPanic<'a, T: Send>(&'a Queue<T>);

impl<T: Send> Drop for StopsOnPanic<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}

impl<T: Send> Queue<T> {
    pub(super) fn new(items: Vec<T>) -> Self {
        Queue {
            state: Mutex::new(State { items, busy: 0 }),
            changed: Condvar::new(),
            idle: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
        }
    }

    /// Runs `thread` on as many threads as there are processors and returns what each made.
    ///
    /// Each is to call [`work`](Self::work). With an error of one thread the others stop.
    pub(super) fn run<R: Send, E: Send>(
        &self,
        thread: impl Fn(&Self) -> Result<R, E> + Sync,
    ) -> Result<Vec<R>, E> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let guarded = || {
            let _stops = StopsOnPanic(self);
            let result = thread(self);
            if result.is_err() {
                self.stop();
            }
            result
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(guarded)).collect();
            let mut results = vec![guarded()];
            for other in others {
                match other.join() {
                    Ok(result) => results.push(result),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            results.into_iter().collect()
        })
    }

    /// Does `each` item until there are none; it may add more, of which the last is done next.
    pub(super) fn work<E>(
        &self,
        mut each: impl FnMut(T, &mut Vec<T>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut own = Vec::new();
        while let Some(first) = self.take() {
            own.push(first);
            while let Some(item) = own.pop() {
                if let Err(error) = each(item, &mut own) {
                    self.stop();
                    self.done();
                    return Err(error);
                }
                if self.stopped.load(Ordering::Relaxed) {
                    own.clear();
                }
                if own.len() > 1 && self.idle.load(Ordering::Relaxed) > 0 {
                    self.share(own.drain(..own.len() / 2));
                }
            }
            self.done();
        }
        Ok(())
    }

    /// Takes an item, waiting while other threads may bring one; `None` once all is done.
    fn take(&self) -> Option<T> {
        let mut state = self.lock();
        loop {
            if self.stopped.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(item) = state.items.pop() {
                state.busy += 1;
                return Some(item);
            }
            if state.busy == 0 {
                return None;
            }
            self.idle.fetch_add(1, Ordering::Relaxed);
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            self.idle.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn share(&self, items: impl Iterator<Item = T>) {
        self.lock().items.extend(items);
        self.changed.notify_all();
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        // Under the lock, so that nobody is between looking and waiting.
        drop(self.lock());
        self.changed.notify_all();
    }

    fn done(&self) {
        self.lock().busy -= 1;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_work_brings_is_done_once() {
        let queue = Queue::new(vec![12u32]);
        let parts = queue.run(|queue| {
            let mut done = 0u32;
            queue.work(|depth, more| -> Result<(), ()> {
                done += 1;
                more.extend((depth > 0).then(|| [depth - 1; 2]).into_iter().flatten());
                Ok(())
            })?;
            Ok::<u32, ()>(done)
        });
        assert_eq!(parts.unwrap().iter().sum::<u32>(), (1 << 13) - 1);
    }

    #[test]
    fn an_error_of_one_thread_ends_the_others() {
        let queue = Queue::new((0..1000).collect());
        let result = queue
            .run(|queue| queue.work(|number, _| if number == 990 { Err(number) } else { Ok(()) }));
        assert_eq!(result.unwrap_err(), 990);
    }

    #[test]
    #[should_panic(expected = "here")]
    fn a_panic_of_one_thread_ends_the_others() {
        let queue = Queue::new((0..1000).collect());
        let _ = queue.run(|queue| {
            queue.work(|number, _| -> Result<(), ()> {
                assert!(number != 990, "here");
                Ok(())
            })
        });
    }
}
