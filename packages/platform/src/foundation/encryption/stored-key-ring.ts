// The key ring of a running server: read from the store, watched for changes of other servers, rotated and pruned.

import { ChangeListeners } from "@postern/apiserver/runtime/change-listeners";
import type { Clock, Random } from "@postern/apiserver/runtime/clock";
import type { Storage, StoredEntry } from "@postern/apiserver/storage/storage";
import { KeyExistsError } from "@postern/apiserver/storage/storage-errors";
import { deriveRingKey, type KeyRing, type RingKey, type RingSecret } from "./key-ring.ts";
import {
  decodeKeyRing,
  encodeKeyRing,
  KEY_RING_KEY,
  type KeyRingContent,
  KeyRingError,
  newSealingKey,
  type OpenedKeyRing,
  serverKeyId,
  wrapSealingKey,
} from "./key-ring-record.ts";

export type StoredKeyRing = KeyRing & {
  /** When the primary key came, in milliseconds since the epoch. */
  readonly rotatedAt: number;
  /** Ids of the server keys that open the ring. */
  readonly serverKeys: readonly string[];
  /** Why the newest state of the ring could not be read; what was known before stays in use. */
  readonly fault: KeyRingError | undefined;
  /** Takes over the record as a watch delivered it. */
  load(entry: StoredEntry): void;
  /** Resolves when it is certain that no other server rotated the ring more than CONFIRMED_MS ago. */
  confirm(): Promise<void>;
  /** Puts a new primary key on the ring, and leaves earlier server keys behind. Rejects with what the store says. */
  rotate(): Promise<RingKey>;
  /** Takes keys off the ring, but never the primary one. */
  retire(ids: readonly string[]): Promise<void>;
  onChange(listener: () => void): Disposable;
};

export type StoredKeyRingDeps = {
  /** As it is on disk. */
  readonly storage: Storage;
  /** The server key, and those before it, each of 32 bytes. */
  readonly serverSecrets: readonly [Uint8Array, ...Uint8Array[]];
  /** False if no other server has the store open. */
  readonly isShared: boolean;
  readonly clock: Clock;
  readonly random: Random;
  /** Told of a record that cannot be read. */
  readonly onError: (error: unknown) => void;
};

/** Before a value is sealed, the ring has been read within this many milliseconds. */
export const CONFIRMED_MS = 10_000;
/** Each key costs a hash for an access key that a client chose. */
const MAX_KEYS = 16;
const KEY_BYTES = 32;

/**
 * The ring of a store. One that has none yet gets it: with a new key where the store is empty; else with the server key itself as the
 * first key, which is what stores from before the ring were written under. Rejects with KeyRingError.
 */
export async function openKeyRing(deps: StoredKeyRingDeps): Promise<StoredKeyRing> {
  const { storage, serverSecrets, random } = deps;
  const [serverSecret] = serverSecrets;
  const found = await storage.get(KEY_RING_KEY);
  const entry = found ?? (await createKeyRing(deps));
  const ring = new LiveKeyRing(deps, entry);
  const opened = decodeKeyRing(entry.value, serverSecrets);
  if (!ring.serverKeys.includes(serverKeyId(serverSecret))) {
    // Servers with an earlier server key keep using it until the next rotation.
    const wraps = [...opened.wraps, wrapSealingKey(serverSecret, opened.sealingKey, random)];
    await ring.write({ ...opened, wraps });
  }
  await ring.confirm();
  return ring;
}

/** Like openKeyRing, but read-only. */
export async function readKeyRing(deps: StoredKeyRingDeps): Promise<StoredKeyRing> {
  const { storage, serverSecrets, random } = deps;
  const entry = await storage.get(KEY_RING_KEY);
  const value =
    entry?.value ?? encodeKeyRing(initialRing(serverSecrets[0], oldestOf(serverSecrets), 0, random), random);
  return new LiveKeyRing(deps, { key: KEY_RING_KEY, revision: entry?.revision ?? 0, value });
}

async function createKeyRing({ storage, serverSecrets, clock, random }: StoredKeyRingDeps): Promise<StoredEntry> {
  const [serverSecret] = serverSecrets;
  const isEmpty = (await storage.list("", { limit: 1, remaining: "any" })).entries.length === 0;
  const secret = isEmpty ? random.bytes(KEY_BYTES) : oldestOf(serverSecrets);
  const value = encodeKeyRing(initialRing(serverSecret, secret, clock.now(), random), random);
  try {
    return { key: KEY_RING_KEY, value, revision: await storage.create(KEY_RING_KEY, value) };
  } catch (error) {
    // Another server starts at the same time.
    const made = error instanceof KeyExistsError ? await storage.get(KEY_RING_KEY) : undefined;
    if (made === undefined) throw error;
    return made;
  }
}

/** With several server keys, a store from before the ring was written under the oldest of them. */
const oldestOf = (serverSecrets: StoredKeyRingDeps["serverSecrets"]): Uint8Array =>
  serverSecrets.at(-1) ?? serverSecrets[0];

function initialRing(serverSecret: Uint8Array, secret: Uint8Array, at: number, random: Random): OpenedKeyRing {
  const sealingKey = newSealingKey(random);
  return {
    secrets: [{ secret, createdAt: at, isFirst: true }],
    rotatedAt: at,
    sealingKey,
    wraps: [wrapSealingKey(serverSecret, sealingKey, random)],
  };
}

class LiveKeyRing implements StoredKeyRing {
  readonly #deps: StoredKeyRingDeps;
  readonly #listeners = new ChangeListeners();
  #entry: StoredEntry;
  #opened: OpenedKeyRing;
  /** A plain member: looked at with each use of a key. */
  keys: readonly [RingKey, ...RingKey[]];
  #byId: ReadonlyMap<string, RingKey>;
  #fault: KeyRingError | undefined;
  /** In elapsed time: if the time of day is set back, an old ring would look recent. */
  #confirmedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: StoredKeyRingDeps, entry: StoredEntry) {
    this.#deps = deps;
    this.#entry = entry;
    this.#opened = decodeKeyRing(entry.value, deps.serverSecrets);
    this.keys = deriveAll(this.#opened);
    this.#byId = byId(this.keys);
  }

  get rotatedAt(): number {
    return this.#opened.rotatedAt;
  }

  get serverKeys(): readonly string[] {
    return this.#opened.wraps.map(({ serverKey }) => serverKey);
  }

  get fault(): KeyRingError | undefined {
    return this.#fault;
  }

  find(id: string): RingKey | undefined {
    return this.#byId.get(id);
  }

  load(entry: StoredEntry): void {
    if (entry.revision <= this.#entry.revision) return;
    try {
      this.#opened = decodeKeyRing(entry.value, this.#deps.serverSecrets);
    } catch (error) {
      if (!(error instanceof KeyRingError)) throw error;
      this.#fault = error;
      this.#deps.onError(error);
      return;
    }
    this.#entry = entry;
    this.#fault = undefined;
    this.keys = deriveAll(this.#opened);
    this.#byId = byId(this.keys);
    this.#listeners.call();
  }

  async refresh(): Promise<void> {
    const askedAt = this.#deps.clock.elapsed();
    const entry = await this.#deps.storage.get(KEY_RING_KEY);
    if (entry === undefined) throw new KeyRingError("the store has no key ring: restore a backup");
    this.load(entry);
    if (this.#fault !== undefined) throw this.#fault;
    this.#confirmedAt = askedAt;
  }

  async confirm(): Promise<void> {
    if (!this.#deps.isShared || this.#deps.clock.elapsed() - this.#confirmedAt < CONFIRMED_MS) return;
    await this.refresh();
  }

  async rotate(): Promise<RingKey> {
    await this.refresh();
    const { clock, random, serverSecrets } = this.#deps;
    const now = clock.now();
    const fresh: RingSecret = { secret: random.bytes(KEY_BYTES), createdAt: now, isFirst: false };
    if (this.#opened.secrets.length >= MAX_KEYS) {
      throw new KeyRingError(`the ring has ${MAX_KEYS} keys: wait until earlier ones are retired`);
    }
    // An old copy of the record with its server key does not open later ones.
    const sealingKey = newSealingKey(random);
    await this.write({
      secrets: [fresh, ...this.#opened.secrets],
      rotatedAt: now,
      sealingKey,
      wraps: [wrapSealingKey(serverSecrets[0], sealingKey, random)],
    });
    return this.keys[0];
  }

  async retire(ids: readonly string[]): Promise<void> {
    const [primary, ...others] = this.#opened.secrets;
    const kept = others.filter((secret) => !ids.includes(deriveRingKey(secret).id));
    if (kept.length < others.length) await this.write({ ...this.#opened, secrets: [primary, ...kept] });
  }

  onChange(listener: () => void): Disposable {
    return this.#listeners.add(listener);
  }

  /** Rejects with RevisionConflictError if another server has changed the ring. */
  async write(next: OpenedKeyRing): Promise<void> {
    const { storage, random } = this.#deps;
    const value = encodeKeyRing(next, random);
    const revision = await storage.update(KEY_RING_KEY, value, this.#entry.revision);
    // The event may have been here before.
    this.load({ key: KEY_RING_KEY, value, revision });
  }
}

function deriveAll({ secrets: [first, ...others] }: KeyRingContent): readonly [RingKey, ...RingKey[]] {
  return [deriveRingKey(first), ...others.map(deriveRingKey)];
}

const byId = (keys: readonly RingKey[]): ReadonlyMap<string, RingKey> => new Map(keys.map((key) => [key.id, key]));
