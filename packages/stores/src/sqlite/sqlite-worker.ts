// The thread that owns the database: takes messages as they come, also in the middle of its work, so that commits gather writes.

import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { RevisionTable } from "./revision-table.ts";
import { toFailure } from "./sqlite-errors.ts";
import { openStoreDatabase } from "./sqlite-schema.ts";
import { StoreSession } from "./store-session.ts";
import type { FromWorker, ToWorker, WorkerOptions } from "./worker-protocol.ts";

const port = parentPort;
if (port !== null) serve(port);

function serve(port: NonNullable<typeof parentPort>): void {
  // The thread is started by sqlite-storage.ts alone, with these options.
  const options = workerData as WorkerOptions;
  const send = (message: FromWorker) => {
    port.postMessage(message, "bytes" in message ? [message.bytes] : []);
  };
  let session: StoreSession;
  try {
    session = new StoreSession(new RevisionTable(openStoreDatabase(options.path), options.maxBytes), send);
  } catch (error) {
    send({ type: "openFailed", failure: toFailure(error) });
    port.close();
    return;
  }

  port.on("message", (first: ToWorker) => {
    session.receive(first);
    do {
      for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
        session.receive(next.message);
      }
    } while (session.turn());
    if (!session.closing) return;
    // Not every driver lets go of the file when it closes: the end of the thread does.
    session.close();
    port.close();
  });
}
