// The store for several replicas: the storage port over etcd's v3 API.
//
// Each write is a transaction of its own. Several in one would share one revision, which the port does not allow; etcd itself gathers
// what arrives at the same time into one round of consensus.

import type {
  ListOptions,
  ListResult,
  Revision,
  Storage,
  StoredEntry,
  WatchObserver,
} from "@postern/apiserver/storage/storage";
import {
  FutureRevisionError,
  KeyExistsError,
  RevisionCompactedError,
  RevisionConflictError,
  StorageUnavailableError,
  ValueTooLargeError,
} from "@postern/apiserver/storage/storage-errors";
import { StoreVersionError } from "../store-errors.ts";
import { assertInstalledOrAlone, EtcdPrefixError, findOtherUser } from "./diagnosis/other-etcd-users.ts";
import { whyUnreachable } from "./diagnosis/why-unreachable.ts";
import { asStorageCall, EtcdConnection, type EtcdTls } from "./etcd-connection.ts";
import { closedError, isCompacted, isFutureRevision } from "./etcd-errors.ts";
import { EtcdKeys } from "./etcd-keys.ts";
import { readEtcdSchema } from "./etcd-schema.ts";
import { type Scheduler, systemScheduler } from "./etcd-timers.ts";
import { GrpcError } from "./grpc/grpc-error.ts";
import type { RangeRequest, RangeResponse, RequestOp, TxnRequest } from "./protocol/etcd-messages.ts";
import { sharedRuns } from "./shared-runs.ts";
import { toEntries, toEntry } from "./watch/etcd-events.ts";
import { findCompactedRevision } from "./watch/find-compacted-revision.ts";
import { type EtcdPosition, type OwnKeyListener, WatchFeed } from "./watch/watch-feed.ts";

export type EtcdCompaction = "always" | "never" | "unless-shared";

export type EtcdStorageOptions = {
  /** Each `host:port`. */
  readonly endpoints: readonly string[];
  /** Absent: the connection is not encrypted. */
  readonly tls?: EtcdTls;
  /** The prefix of all keys, so that several servers can share one etcd. Default: `/postern`. */
  readonly prefix?: string;
  /**
   * Whether to compact history, which affects all keys of the etcd. `unless-shared` leaves it to the etcd's administrator while
   * others have keys there. Default: `always`.
   */
  readonly compaction?: EtcdCompaction;
  /** Fails at the start if there are no keys below the prefix while others have keys in the same etcd. */
  readonly mustBeInstalled?: boolean;
  /** The deadline of reads and writes in milliseconds. Default: 5000. */
  readonly requestTimeoutMs?: number;
  readonly scheduler?: Scheduler;
};

export type EtcdStorage = Storage & {
  /**
   * For `/readyz`: rejects with StorageUnavailableError if etcd has no reachable quorum, or if watches have been cut off
   * for longer than `CUT_OFF_MS` of watch-feed.ts.
   */
  readonly health: { readonly name: "etcd"; check(): Promise<void> };
  /** Connection and keys, for users such as leader election. */
  readonly connection: EtcdConnection;
  readonly keys: EtcdKeys;
  /** Reports every event after the watches were notified, including events of keys that are not objects. */
  followOwnKeys(listener: OwnKeyListener): Disposable;
};

const DEFAULT_PREFIX = "/postern";
const DEFAULT_TIMEOUT_MS = 5_000;
const CERTIFICATE_CHECK_MS = 2_000;
/** etcd's default limit: 1.5 MiB including overhead. */
const MAX_VALUE_BYTES = (1 << 20) + (1 << 19) - (8 << 10);
/** Entries per message: etcd looks at the keys of the whole rest of the range for each message. */
const PAGE_SIZE = 1_000;

/** Rejects with StorageUnavailableError if no endpoint answers or etcd refuses the credentials, and with StoreVersionError. */
export async function openEtcdStorage(options: EtcdStorageOptions): Promise<EtcdStorage> {
  const { endpoints, tls, prefix = DEFAULT_PREFIX, requestTimeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const { scheduler = systemScheduler, compaction = "always", mustBeInstalled = false } = options;
  const keys = new EtcdKeys(prefix);
  const connection = new EtcdConnection({ endpoints, requestTimeoutMs, scheduler, ...(tls && { tls }) });
  const readPosition = () => asStorageCall(position(connection, keys));
  try {
    if (mustBeInstalled) await assertInstalledOrAlone({ connection, keys }, prefix);
    await readEtcdSchema({ connection, keys });
    const feed = new WatchFeed({
      connection,
      keys,
      scheduler,
      position: await position(connection, keys),
      readPosition,
      tick: () => tick(connection, keys),
    });
    await feed.firstContact();
    return new StorageOnEtcd({ connection, keys, feed, readPosition, compaction });
  } catch (error) {
    connection[Symbol.dispose]();
    if (error instanceof StoreVersionError || error instanceof EtcdPrefixError) throw error;
    throw await openError(options, error);
  }
}

async function position(connection: EtcdConnection, { tick: key }: EtcdKeys): Promise<EtcdPosition> {
  const request = { key, count_only: true };
  const { header } = await connection.call(connection.methods.range, request, { repeatable: true });
  return { revision: header?.revision ?? 0, clusterId: header?.cluster_id ?? 0 };
}

async function tick(connection: EtcdConnection, { tick: key }: EtcdKeys): Promise<void> {
  await connection.call(
    connection.methods.txn,
    { compare: [], success: [{ request_put: { key } }] },
    { repeatable: true },
  );
}

/** OpenSSL's errors for bad, unsupported, revoked, expired, unknown and missing certificates (RFC 8446 section 6.2), and for unknown CAs. */
const CERTIFICATE_ALERT = /SSL alert number (?:4[2-68]|116)\b/;

async function openError({ endpoints, tls }: EtcdStorageOptions, error: unknown): Promise<StorageUnavailableError> {
  const reason = error instanceof StorageUnavailableError && error.cause instanceof GrpcError ? error.cause : error;
  const found =
    reason instanceof GrpcError ? reason.details : reason instanceof Error ? reason.message : String(reason);
  const details =
    CERTIFICATE_ALERT.test(found) || (await refusesCertificate(endpoints[0], tls))
      ? "it refuses the client certificate, or wants one and got none"
      : found;
  return new StorageUnavailableError(`etcd at ${endpoints.join(", ")} cannot be used: ${details}`, { cause: error });
}

/** HTTP/2 of Node 20 does not report the TLS alert of a server that refuses a certificate: the connection is silent until its deadline. */
async function refusesCertificate(address: string | undefined, tls: EtcdTls | undefined): Promise<boolean> {
  if (address === undefined || tls === undefined) return false;
  const reason = await whyUnreachable(address, tls, CERTIFICATE_CHECK_MS);
  return reason === "client certificate missing" || reason === "client certificate refused";
}

type Parts = {
  readonly connection: EtcdConnection;
  readonly keys: EtcdKeys;
  readonly feed: WatchFeed;
  readonly readPosition: () => Promise<EtcdPosition>;
  readonly compaction: EtcdCompaction;
};

class StorageOnEtcd implements EtcdStorage {
  readonly connection: EtcdConnection;
  readonly keys: EtcdKeys;
  readonly health: EtcdStorage["health"];
  readonly #feed: WatchFeed;
  readonly #position: () => Promise<EtcdPosition>;
  readonly #compaction: EtcdCompaction;
  #oldestRevision: Revision = 0;

  constructor({ connection, keys, feed, readPosition, compaction }: Parts) {
    this.connection = connection;
    this.keys = keys;
    this.#feed = feed;
    this.#compaction = compaction;
    this.#position = sharedRuns(readPosition);
    this.health = { name: "etcd", check: () => this.#checkHealth() };
  }

  async get(key: string, options?: { readonly signal?: AbortSignal }): Promise<StoredEntry | undefined> {
    const { kvs } = await asStorageCall(this.#range({ key: this.keys.encode(key) }, options?.signal));
    return kvs?.[0] && toEntry(key, kvs[0]);
  }

  async list(prefix: string, options: ListOptions = {}): Promise<ListResult> {
    const { limit = Number.POSITIVE_INFINITY, signal } = options;
    let { startAfter, revision } = options;
    signal?.throwIfAborted();
    const entries: StoredEntry[] = [];
    for (;;) {
      const wanted = Math.min(limit - entries.length, PAGE_SIZE);
      const range = this.keys.range(prefix, startAfter);
      const { header, kvs = [], count = 0 } = await this.#page({ ...range, ...pageOf(wanted) }, revision, signal);
      const page = toEntries(this.keys, kvs);
      // One by one: a large page as arguments would overflow the stack.
      for (const entry of page) entries.push(entry);
      // The following pages are read at the revision of the first.
      revision ??= header?.revision ?? 0;
      const remaining = count - page.length;
      if (remaining === 0 || entries.length >= limit) return { entries, revision, remaining };
      startAfter = page.at(-1)?.key;
    }
  }

  async create(key: string, value: Uint8Array): Promise<Revision> {
    assertSize(value);
    const bytes = this.keys.encode(key);
    const { revision, current } = await this.#write(key, bytes, 0, { request_put: { key: bytes, value } });
    if (revision === undefined) throw new KeyExistsError(key, current);
    return revision;
  }

  async update(key: string, value: Uint8Array, expected: Revision): Promise<Revision> {
    assertSize(value);
    const bytes = this.keys.encode(key);
    return this.#replace(key, bytes, expected, { request_put: { key: bytes, value } });
  }

  async delete(key: string, expected: Revision): Promise<Revision> {
    const bytes = this.keys.encode(key);
    return this.#replace(key, bytes, expected, { request_delete_range: { key: bytes } });
  }

  watch(prefix: string, fromRevision: Revision, observer: WatchObserver): Disposable {
    return this.#feed.watch(prefix, fromRevision, observer);
  }

  followOwnKeys(listener: OwnKeyListener): Disposable {
    return this.#feed.followOwnKeys(listener);
  }

  async currentRevision(): Promise<Revision> {
    const { revision } = await this.#position();
    // The caller is about to wait until a watch has reached the revision.
    this.#feed.expect(revision);
    return revision;
  }

  async compact(revision: Revision): Promise<void> {
    const { connection } = this;
    if (!(await this.#mayCompact())) return;
    try {
      await connection.call(connection.methods.compact, { revision }, { repeatable: true });
    } catch (error) {
      if (isFutureRevision(error)) throw new FutureRevisionError(revision, (await this.#position()).revision);
      if (!isCompacted(error)) return asStorageCall(Promise.reject(error));
    }
    this.#oldestRevision = Math.max(this.#oldestRevision, revision);
  }

  /** Checked each time, because others may have joined or left. */
  async #mayCompact(): Promise<boolean> {
    if (this.#compaction !== "unless-shared") return this.#compaction === "always";
    return (await findOtherUser(this)) === undefined;
  }

  get oldestRevision(): Revision {
    return this.#oldestRevision;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#feed[Symbol.dispose]();
    this.connection[Symbol.dispose]();
  }

  #range(request: RangeRequest, signal: AbortSignal | undefined): Promise<RangeResponse> {
    return this.connection.call(this.connection.methods.range, request, { repeatable: true, signal });
  }

  async #page(
    request: RangeRequest,
    revision: Revision | undefined,
    signal: AbortSignal | undefined,
  ): Promise<RangeResponse> {
    if (revision === undefined) return asStorageCall(this.#range(request, signal));
    // 0 would mean the newest one.
    if (revision < 1) throw new RevisionCompactedError(revision, Math.max(this.#oldestRevision, 1));
    try {
      return await this.#range({ ...request, revision }, signal);
    } catch (error) {
      if (isFutureRevision(error)) throw new FutureRevisionError(revision, (await this.#position()).revision);
      if (!isCompacted(error)) return asStorageCall(Promise.reject(error));
      this.#oldestRevision = await findCompactedRevision(this.connection, this.keys, this.#oldestRevision);
      throw new RevisionCompactedError(revision, this.#oldestRevision);
    }
  }

  async #replace(key: string, bytes: Uint8Array, expected: Revision, operation: RequestOp): Promise<Revision> {
    // etcd has absent keys at revision 0, at which no key was ever read.
    const compared = expected > 0 ? expected : -1;
    const { revision, current } = await this.#write(key, bytes, compared, operation);
    if (revision === undefined) throw new RevisionConflictError(key, expected, current);
    return revision;
  }

  /** Without a revision if `key` is not at `expected`. */
  async #write(
    key: string,
    bytes: Uint8Array,
    expected: Revision,
    operation: RequestOp,
  ): Promise<{ readonly revision?: Revision; readonly current?: StoredEntry | undefined }> {
    const request: TxnRequest = {
      compare: [{ target: "MOD", key: bytes, mod_revision: expected }],
      success: [operation],
      failure: [{ request_range: { key: bytes } }],
    };
    const { connection } = this;
    const answer = await asStorageCall(connection.call(connection.methods.txn, request, { repeatable: false }));
    if (answer.succeeded !== true) {
      const kv = answer.responses?.[0]?.response_range?.kvs?.[0];
      return { current: kv && toEntry(key, kv) };
    }
    const revision = answer.header?.revision ?? 0;
    await this.#feed.observed(revision);
    return { revision };
  }

  async checkRoom(_key: string, value: Uint8Array): Promise<void> {
    assertSize(value);
  }

  async #checkHealth(): Promise<void> {
    if (this.connection.closed) throw closedError();
    if (this.#feed.cutOff !== undefined) throw this.#feed.cutOff;
    await this.#position();
  }
}

function assertSize({ byteLength }: Uint8Array): void {
  if (byteLength <= MAX_VALUE_BYTES) return;
  throw new ValueTooLargeError(`the value has ${byteLength} bytes, more than ${MAX_VALUE_BYTES}`);
}

// For etcd, a limit of 0 means no limit.
function pageOf(limit: number): Pick<RangeRequest, "limit" | "count_only"> {
  return limit > 0 ? { limit } : { count_only: true };
}
