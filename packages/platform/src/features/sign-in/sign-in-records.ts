// Records between the steps of a sign-in, for all servers: encrypted, found by a secret that is not in the store, used once, and deleted after
// minutes.

import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import { sourceOf } from "@postern/apiserver/limits/rate-limiter";
import type { Clock } from "@postern/apiserver/runtime/clock";
import { unlessConflict } from "@postern/apiserver/storage/unless-conflict";
import type { SealedValues } from "../../foundation/encryption/sealed-value.ts";
import type { ExpiringRecords } from "../../foundation/store/expiring-records.ts";

/** `pending`: signed in, not confirmed yet; `code`: for a command line to redeem; `device`: a device code; `user-code`: refers to one. */
export type RecordKind = "pending" | "code" | "device" | "user-code";

export type SignInRecord = {
  readonly content: JsonObject;
  /** Milliseconds since the epoch. */
  readonly until: number;
  readonly revision: number;
};

export type SignInRecords = {
  /**
   * `user` has signed in. If there are too many, or they are too large together, the oldest of the user with the most of them makes way. Resolves with
   * false if this server knows of none.
   */
  put(kind: "pending" | "code", secret: string, content: JsonObject, until: number, user: string): Promise<boolean>;
  /**
   * A device code and the user code that refers to it. If too many wait, the oldest of the address with the most of them makes way. Resolves with false if
   * this server knows of none.
   */
  putDevice(
    device: { readonly deviceCode: string; readonly userCode: string; readonly from: string },
    until: number,
  ): Promise<boolean>;
  /**
   * Resolves with true for the first caller of all servers, and with false for others with the same secret. If too many are remembered, the oldest of the
   * address with the most of them is forgotten.
   */
  useOnce(secret: string, from: string, until: number): Promise<boolean>;
  /** Undefined if it does not exist, has expired, or belongs to another user. */
  read(kind: RecordKind, secret: string): Promise<SignInRecord | undefined>;
  /** The same, and deletes it: of two callers, only one gets it. */
  take(kind: RecordKind, secret: string): Promise<JsonObject | undefined>;
  /** Resolves with false if it has changed since it was read, or if there is no room for another sign-in of `user`. */
  replace(kind: RecordKind, secret: string, before: SignInRecord, content: JsonObject, user?: string): Promise<boolean>;
};

const MAX_RECORDS = 5_000;
/** Unauthenticated clients may create these, so some room is reserved for signed-in users. */
const MAX_OF_STRANGERS = 4_000;
/** A sign-in with all groups that a user may have takes up to 100 kB. */
const MAX_BYTES = 16 << 20;

export function createSignInRecords(
  { view, prefix, storage }: ExpiringRecords,
  sealed: Pick<SealedValues, "seal" | "open">,
  clock: Clock,
): SignInRecords {
  const nameOf = (kind: RecordKind | "used", secret: string): string =>
    createHash("sha256").update(`${kind} ${secret}`).digest("hex");
  const encode = (name: string, content: JsonObject, until: number): Uint8Array =>
    encodeStoredValue({
      apiVersion: "v1",
      kind: "SignInStep",
      metadata: { name },
      until,
      content: sealed.seal(stringifyJson(content), purposeOf(name)),
    });

  const read: SignInRecords["read"] = async (kind, secret) => {
    const name = nameOf(kind, secret);
    const entry = await storage.get(prefix + name);
    if (entry === undefined) return undefined;
    const { until, content } = CachedObject.fromEntry(entry).decode();
    const end = Number(until ?? 0);
    const text = typeof content === "string" ? sealed.open(content, purposeOf(name)) : undefined;
    if (end <= clock.now() || text === undefined) return undefined;
    const value = parseJson(text);
    return isJsonObject(value) ? { content: value, until: end, revision: entry.revision } : undefined;
  };

  const write = async (kind: RecordKind, secret: string, content: JsonObject, until: number): Promise<void> => {
    const name = nameOf(kind, secret);
    await storage.create(prefix + name, encode(name, content, until));
  };
  /** Whether it was there. */
  const remove = async (name: string): Promise<boolean> => {
    const entry = await storage.get(prefix + name);
    if (entry === undefined) return false;
    return (await unlessConflict(storage.delete(prefix + name, entry.revision))) !== undefined;
  };
  const waiting = new WaitingRecords();
  /** The finished sign-ins of users, until they are used. */
  const confirmed = new WaitingRecords();
  const makeWay = async (from = waiting): Promise<boolean> => {
    for (let names = from.takeOldest(clock.now()); names !== undefined; names = from.takeOldest(clock.now())) {
      const removed = await Promise.all(names.map(remove));
      if (removed.includes(true)) return true;
    }
    return false;
  };

  const isFull = (bytes: number): boolean =>
    view.count(prefix) >= MAX_RECORDS ||
    view.list(prefix).reduce((sum, { storedBytes }) => sum + storedBytes, bytes) > MAX_BYTES;
  /** Whether there is room for a sign-in of a user, for which older ones make way. */
  const hasRoom = async (bytes: number): Promise<boolean> => !isFull(bytes) || (await makeWay(confirmed));

  return {
    read,
    async put(kind, secret, content, until, user) {
      const name = nameOf(kind, secret);
      const value = encode(name, content, until);
      if (!(await hasRoom(value.length))) return false;
      await storage.create(prefix + name, value);
      confirmed.add(user, { names: [name], until }, clock.now());
      return true;
    },
    async putDevice({ deviceCode, userCode, from }, until) {
      if (view.count(prefix) + 2 > MAX_OF_STRANGERS && !(await makeWay())) return false;
      await write("device", deviceCode, { waits: true }, until);
      await write("user-code", userCode, { deviceCode, from }, until);
      const names = [nameOf("device", deviceCode), nameOf("user-code", userCode)];
      waiting.add(sourceOf(from), { names, until }, clock.now());
      return true;
    },
    async useOnce(secret, from, until) {
      if (view.count(prefix) + 1 > MAX_OF_STRANGERS && !(await makeWay())) return false;
      const name = nameOf("used", secret);
      if ((await unlessConflict(storage.create(prefix + name, encode(name, {}, until)))) === undefined) return false;
      waiting.add(sourceOf(from), { names: [name], until }, clock.now());
      return true;
    },
    async take(kind, secret) {
      const found = await read(kind, secret);
      if (found === undefined) return undefined;
      const deleted = await unlessConflict(storage.delete(prefix + nameOf(kind, secret), found.revision));
      return deleted === undefined ? undefined : found.content;
    },
    async replace(kind, secret, { until, revision }, content, user) {
      const name = nameOf(kind, secret);
      const value = encode(name, content, until);
      if (user !== undefined && !(await hasRoom(value.length))) return false;
      if ((await unlessConflict(storage.update(prefix + name, value, revision))) === undefined) return false;
      if (user !== undefined) confirmed.add(user, { names: [name], until }, clock.now());
      return true;
    },
  };
}

const purposeOf = (name: string): string => `step of sign-in ${name}`;

type WaitingRecord = { readonly names: readonly string[]; readonly until: number };

/** Records that this server has written, by address or user, such as the device codes that it has given out. Some may be gone. */
class WaitingRecords {
  readonly #bySource = new Map<string, WaitingRecord[]>();

  #count = 0;

  add(source: string, device: WaitingRecord, now: number): void {
    if (this.#count >= MAX_OF_STRANGERS) this.#forgetExpired(now);
    const before = this.#bySource.get(source);
    if (before === undefined) this.#bySource.set(source, [device]);
    else before.push(device);
    this.#count++;
  }

  #forgetExpired(now: number): void {
    this.#count = 0;
    for (const [source, devices] of this.#bySource) {
      while (devices[0] !== undefined && devices[0].until <= now) devices.shift();
      if (devices.length === 0) this.#bySource.delete(source);
      this.#count += devices.length;
    }
  }

  /** Names of the records of the oldest of the source that has the most; undefined if none waits. */
  takeOldest(now: number): readonly string[] | undefined {
    this.#forgetExpired(now);
    let most: [source: string, devices: WaitingRecord[]] | undefined;
    for (const [source, devices] of this.#bySource) {
      if (most === undefined || devices.length > most[1].length) most = [source, devices];
    }
    if (most === undefined) return undefined;
    const [source, devices] = most;
    const oldest = devices.shift();
    this.#count--;
    if (devices.length === 0) this.#bySource.delete(source);
    return oldest?.names;
  }
}
