// Stops reading in a thread that is to end. Node aborts the whole process where a thread ends, and reads a request of HTTP/2 with data once more
// (nodejs/node#38418).

import { Session } from "node:inspector";
import type { Worker } from "node:worker_threads";

/** Node shows what is open, and types do not name it. */
type OpenHandles = { _getActiveHandles(): readonly { readonly _handle?: { readStop?(): unknown } | null }[] };

/** Nothing is read from a connection of this thread any more. It is also evaluated from its text, and so uses globals alone. */
export function stopReading(): void {
  for (const { _handle: handle } of (process as unknown as OpenHandles)._getActiveHandles()) handle?.readStop?.();
}

/** A thread in native code answers behind it, and is terminated no sooner. */
const ANSWER_MS = 5_000;

/** A thread in native code exits behind it. */
const EXIT_MS = 5_000;

/** Ends of threads, one after the other. */
let last: Promise<void> = Promise.resolve();

/**
 * Ends a thread that may stand still, and stops its reading first. One after the other: Node ends the process by SIGSEGV where a session attaches to the
 * threads of the process while one of them ends (`WorkerManager::SetAutoAttach`). Resolves once the thread has exited, or five seconds later.
 */
export function endStill(
  worker: Pick<Worker, "threadId" | "terminate">,
  stop: (thread: Pick<Worker, "threadId">) => Promise<void> = stopReadingIn,
): Promise<void> {
  last = last.then(async () => {
    await stop(worker);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, EXIT_MS);
    });
    await Promise.race([worker.terminate(), late]);
    clearTimeout(timer);
  });
  return last;
}

/**
 * The same in another thread, also while its event loop stands still in JavaScript: V8 evaluates it between two steps of a loop. Resolves once it has,
 * where the thread has ended, or after five seconds. Never rejects.
 */
export async function stopReadingIn({ threadId }: Pick<Worker, "threadId">): Promise<void> {
  // It has ended.
  if (threadId < 0) return;
  const session = new Session();
  try {
    session.connect();
    // Not `workerId`, which counts what the session has seen.
    const title = `[worker ${threadId}]`;
    let place: string | undefined;
    session.on("NodeWorker.attachedToWorker", ({ params: { sessionId, workerInfo } }) => {
      if (workerInfo.title.startsWith(title)) place = sessionId;
    });
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ANSWER_MS);
      session.on("NodeWorker.receivedMessageFromWorker", () => resolve());
      session.on("NodeWorker.detachedFromWorker", ({ params }) => {
        if (params.sessionId === place) resolve();
      });
      session.post("NodeWorker.enable", { waitForDebuggerOnStart: false }, () => {
        if (place === undefined) return resolve();
        const message = { id: 1, method: "Runtime.evaluate", params: { expression: `(${stopReading})()` } };
        session.post("NodeWorker.sendMessageToWorker", { sessionId: place, message: JSON.stringify(message) });
      });
    });
    clearTimeout(timer);
  } catch {
    // A Node without an inspector: the thread ends as it did.
  } finally {
    session.disconnect();
  }
}
