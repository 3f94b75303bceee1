// The thread that owns the database. It receives messages in the middle of its work too, so that commits gather writes.

import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { examineFile } from "./examine-sqlite.ts";
import { IntegrityCheck } from "./integrity-check.ts";
import { RevisionTable } from "./revision-table.ts";
import { toFailure } from "./sqlite-errors.ts";
import { openStoreDatabase } from "./sqlite-schema.ts";
import { StoreSession } from "./store-session.ts";
import type { FromWorker, ToWorker, WorkerOptions } from "./worker-protocol.ts";

/** With 64 rows per step: 13,000 rows a second, about a tenth of a core. */
const CHECK_INTERVAL_MS = 5;

const port = parentPort;
if (port !== null) serve(port);

function serve(port: NonNullable<typeof parentPort>): void {
  // Only sqlite-storage.ts starts the thread, with these options.
  const options = workerData as WorkerOptions;
  const send = (message: FromWorker) => {
    port.postMessage(message, "bytes" in message ? [message.bytes] : []);
  };
  if (options.examines === true) {
    send({ type: "examined", examination: examineFile(options.path) });
    port.close();
    return;
  }
  let session: StoreSession;
  try {
    const { database, isUnchecked } = openStoreDatabase(options.path, options.maxQuickCheckBytes);
    const check = isUnchecked ? new IntegrityCheck(database) : undefined;
    session = new StoreSession(new RevisionTable(database, options.maxBytes), send, check);
  } catch (error) {
    send({ type: "openFailed", failure: toFailure(error) });
    port.close();
    return;
  }

  // One step at a time between messages, so that it delays no request.
  const checking = session.isChecking
    ? setInterval(() => {
        session.checkOn();
        if (!session.isChecking) clearInterval(checking);
      }, CHECK_INTERVAL_MS)
    : undefined;
  port.on("message", (first: ToWorker) => {
    session.receive(first);
    do {
      for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
        session.receive(next.message);
      }
    } while (session.turn());
    if (!session.closing) return;
    if (checking !== undefined) clearInterval(checking);
    // Not every driver releases the file when it closes: the end of the thread does.
    session.close();
    port.close();
  });
}
