//! Runs over many files on all processors, in pieces that keep their order.

use std::{
    num::NonZero,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

/// Most threads that are started; more do not make a disk faster.
const MAX_THREADS: usize = 8;
/// Files that one thread takes at a time.
const PIECE: usize = 256;

/// Applies `work` to every item and its place, with a state that `start` makes for each thread, and returns the results in order.
///
/// # Errors
///
/// The first error that a thread met; the others stop at their next piece.
pub(super) fn map<I, S, T, E>(
    items: &[I],
    start: impl Fn() -> Result<S, E> + Sync,
    work: impl Fn(&mut S, usize, &I) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E>
where
    I: Sync,
    T: Send,
    E: Send,
{
    let pieces: Vec<&[I]> = items.chunks(PIECE).collect();
    let threads = std::thread::available_parallelism()
        .map_or(1, NonZero::get)
        .min(MAX_THREADS)
        .min(pieces.len());
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let done: Mutex<Vec<(usize, Vec<T>)>> = Mutex::new(Vec::with_capacity(pieces.len()));
    let run = || -> Result<(), E> {
        let mut state = start()?;
        while !stop.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = pieces.get(at) else { break };
            let results: Result<Vec<T>, E> = piece
                .iter()
                .enumerate()
                .map(|(n, item)| work(&mut state, at * PIECE + n, item))
                .collect();
            let results = results.inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
            done.lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .push((at, results));
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
        let mut outcome = run();
        for other in others {
            let other = other
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            outcome = outcome.and(other);
        }
        outcome
    })?;
    let mut done = done
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_unstable_by_key(|(at, _)| *at);
    Ok(done.into_iter().flat_map(|(_, results)| results).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_items() {
        let items: Vec<usize> = (0..5 * PIECE + 7).collect();
        let doubled = map(
            &items,
            || Ok::<_, ()>(()),
            |(), at, item| Ok((at, item * 2)),
        )
        .unwrap();
        assert!(
            doubled
                .iter()
                .enumerate()
                .all(|(n, (at, twice))| n == *at && *twice == 2 * n)
        );
        assert_eq!(doubled.len(), items.len());
    }

    #[test]
    fn an_error_of_any_thread_is_the_outcome() {
        let items: Vec<usize> = (0..5 * PIECE).collect();
        let fails_at =
            |(): &mut (), at: usize, _: &usize| if at == 4 * PIECE { Err(at) } else { Ok(()) };
        assert_eq!(map(&items, || Ok(()), fails_at), Err(4 * PIECE));
        assert_eq!(map(&items[..0], || Ok(()), fails_at), Ok(Vec::new()));
    }
}
