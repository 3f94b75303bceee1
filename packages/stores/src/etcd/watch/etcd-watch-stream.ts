// One watch of etcd on one endpoint, from a revision on, until it fails or is disposed.

import type { Revision } from "@postern/apiserver/storage/storage";
import { RevisionCompactedError, StorageUnavailableError } from "@postern/apiserver/storage/storage-errors";
import type { EtcdConnection } from "../etcd-connection.ts";
import { toStorageError } from "../etcd-errors.ts";
import type { KeyRange } from "../etcd-keys.ts";
import type { GrpcChannel, GrpcStream } from "../grpc/grpc-channel.ts";
import { grpcStatus } from "../grpc/grpc-error.ts";
import type { WatchRequest, WatchResponse } from "../protocol/etcd-messages.ts";

export const FROM_NOW = 0;

export type WatchStreamOptions = {
  readonly range: KeyRange;
  /** Inclusive. Start a watch at its last revision, not after it: otherwise etcd might not report a compaction. */
  readonly startRevision: Revision | typeof FROM_NOW;
  /** Creation, events and progress. */
  readonly receive: (response: WatchResponse) => void;
  /** No call follows. */
  readonly lost: (error: Error) => void;
};

export class EtcdWatchStream implements Disposable {
  readonly endpoint: GrpcChannel;
  readonly #stream: GrpcStream<WatchRequest>;
  #over = false;

  constructor(connection: EtcdConnection, { range, startRevision, receive, lost }: WatchStreamOptions) {
    this.endpoint = connection.endpoint;
    const end = (error: Error) => {
      if (this.#over) return;
      this[Symbol.dispose]();
      lost(error);
    };
    this.#stream = this.endpoint.stream(connection.methods.watch, {
      message: (response) => {
        if (this.#over) return;
        if (response.canceled === true) end(cancelError(response, startRevision));
        else receive(response);
      },
      end: (error) =>
        end(
          error.code === grpcStatus.ok
            ? new StorageUnavailableError("etcd has ended the watch")
            : toStorageError(error),
        ),
    });
    this.#stream.write({ create_request: { ...range, start_revision: startRevision, prev_kv: true } });
  }

  /** Requests a response without events. */
  requestProgress(): void {
    if (!this.#over) this.#stream.write({ progress_request: {} });
  }

  [Symbol.dispose](): void {
    if (this.#over) return;
    this.#over = true;
    this.#stream.cancel();
  }
}

function cancelError({ compact_revision, cancel_reason }: WatchResponse, startRevision: Revision): Error {
  if (compact_revision !== undefined) return new RevisionCompactedError(startRevision, compact_revision);
  return new StorageUnavailableError(`etcd has ended the watch: ${cancel_reason ?? "no reason given"}`);
}
