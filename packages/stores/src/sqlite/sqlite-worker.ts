// The thread that owns the database. It receives messages in the middle of its work too, so that commits gather writes.

import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { examineFile } from "./examine-sqlite.ts";
import { IntegrityCheck } from "./integrity-check.ts";
import { publishNewest } from "./newest-revision.ts";
import { RevisionTable } from "./revision-table.ts";
import { toFailure } from "./sqlite-errors.ts";
import { openStoreDatabase } from "./sqlite-schema.ts";
import { type Send, type SessionClient, StoreSession } from "./store-session.ts";
import type { FromWorker, ToWorker, WorkerOptions } from "./worker-protocol.ts";

/** With 64 rows per step: 13,000 rows a second, about a tenth of a core. */
const CHECK_INTERVAL_MS = 5;

const port = parentPort;
if (port !== null) serve(port);

function serve(port: NonNullable<typeof parentPort>): void {
  // Only sqlite-storage.ts starts the thread, with these options.
  const options = workerData as WorkerOptions;
  const sendTo =
    (to: MessagePort): Send =>
    (message: FromWorker) => {
      to.postMessage(message, "bytes" in message ? [message.bytes] : []);
    };
  const send = sendTo(port);
  if (options.examines === true) {
    send({ type: "examined", examination: examineFile(options.path) });
    port.close();
    return;
  }
  let session: StoreSession;
  try {
    const { database, isUnchecked } = openStoreDatabase(options.path, options.maxQuickCheckBytes);
    const check = isUnchecked ? new IntegrityCheck(database) : undefined;
    const { newest } = options;
    const onCommitted = newest && ((revision: number) => publishNewest(newest, revision));
    session = new StoreSession(new RevisionTable(database, options.maxBytes), send, check, onCommitted);
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
  const joined = new Map<MessagePort, SessionClient>();
  const take = (message: ToWorker, client?: SessionClient): void => {
    if (message.type === "join") join(message.port);
    else session.receive(message, client);
  };
  const receiveAll = (from: MessagePort, client?: SessionClient): void => {
    for (let next = receiveMessageOnPort(from); next !== undefined; next = receiveMessageOnPort(from)) {
      take(next.message, client);
    }
  };
  const work = (): void => {
    do {
      receiveAll(port);
      for (const [from, client] of joined) receiveAll(from, client);
    } while (session.turn());
    for (const [from, client] of joined) if (client.isLeaving) from.close();
    if (!session.closing) return;
    if (checking !== undefined) clearInterval(checking);
    for (const from of joined.keys()) from.close();
    // Not every driver releases the file when it closes: the end of the thread does.
    session.close();
    port.close();
  };
  const join = (other: MessagePort): void => {
    const client = session.join(sendTo(other));
    joined.set(other, client);
    other.on("message", (first: ToWorker) => {
      take(first, client);
      work();
    });
    // Also where its thread has ended.
    other.on("close", () => {
      joined.delete(other);
      session.leave(client);
    });
  };
  port.on("message", (first: ToWorker) => {
    take(first);
    work();
  });
}
