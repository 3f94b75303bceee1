// The way to the thread that owns the database: the thread itself for the one that started it, a port for all others.

import type { MessagePort, Worker } from "node:worker_threads";
import type { FromWorker, ToWorker } from "./worker-protocol.ts";

export type StorePort = {
  send(message: ToWorker): void;
  onMessage(listener: (message: FromWorker) => void): void;
  /** `failure` is undefined where the thread, or the port, has closed. Called once at least. */
  onEnd(listener: (failure: unknown) => void): void;
  /** Ends it at once. */
  terminate(): Promise<void>;
};

const moved = (message: ToWorker) => (message.type === "requests" ? [message.bytes] : []);

export const portOfThread = (worker: Worker): StorePort => ({
  send: (message) => worker.postMessage(message, message.type === "join" ? [message.port] : moved(message)),
  onMessage: (listener) => void worker.on("message", listener),
  onEnd(listener) {
    worker.on("error", listener);
    worker.on("exit", () => listener(undefined));
  },
  terminate: async () => void (await worker.terminate()),
});

export const portOfChannel = (port: MessagePort): StorePort => ({
  send: (message) => port.postMessage(message, moved(message)),
  onMessage: (listener) => void port.on("message", listener),
  onEnd: (listener) => void port.on("close", () => listener(undefined)),
  terminate: async () => port.close(),
});
