// Clients of simulated servers that make, rotate, disable, delete and use keys, and hold the servers to what they have answered.

import { FRESHNESS_BOUND_MS } from "@postern/apiserver/cache/freshness";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import { expect } from "vitest";
import { ROOT_TOKEN, ServerGoneError, type SimulatedRequest, type SimulatedServer } from "./simulated-server.ts";
import { type TrueHistory, TrueState } from "./true-history.ts";
import type { VirtualTime } from "./virtual-time.ts";

const GROUP = "/apis/management.postern/v1";
const KEYS = `${GROUP}/ownedaccesskeys`;
export const KEY_PREFIX = "/registry/management/management.postern/ownedaccesskeys/";

export type KeyClientOptions = {
  readonly world: VirtualTime;
  readonly next: (bound: number) => number;
  readonly history: TrueHistory;
  readonly chooseServer: () => SimulatedServer;
  /** Told of everything that happens, for two runs to be held against each other. */
  readonly trace: (line: string) => void;
  readonly onError: (error: unknown) => void;
};

/** A value of a key. One with an unknown state is in none of the lists. */
type Value = {
  readonly name: string;
  readonly text: string;
  readonly goodSince: number;
  revokedAt: number | undefined;
};

/** So many revoked values are tried on. */
const REVOKED = 50;

/** There are no fewer good keys for long, and no more keys to be cleaned up: what a list costs does not grow with the hours. */
const GOOD = 10;
const TO_CLEAN_UP = 20;

/** When a client tries after it was revoked. */
const TRIED_AGAIN_MS = [1, 200, 1_000, 5_000, FRESHNESS_BOUND_MS, FRESHNESS_BOUND_MS + 1, 15_000, 30_000];

type Answer = { readonly status: number; readonly text: string };

export class KeyClients {
  readonly #options: KeyClientOptions;
  readonly #good = new Map<string, Value>();
  readonly #revoked: Value[] = [];
  /** How many uses of a value are under way. */
  readonly #inUse = new WeakMap<Value, number>();
  /** Names whose last change was not answered. */
  readonly #unknown = new Set<string>();
  /** Names of keys that are disabled, or whose state is unknown, to be deleted; the oldest first. */
  readonly #toCleanUp: string[] = [];
  /** The newest values that rotations have replaced. */
  readonly #replaced: string[] = [];
  /** The newest revision of any answer. */
  #newest = 0;
  #names = 0;
  readonly counts = {
    acknowledged: 0,
    created: 0,
    rotated: 0,
    disabled: 0,
    deleted: 0,
    cleanedUp: 0,
    unanswered: 0,
    accepted: 0,
    refused: 0,
    unavailable: 0,
    lists: 0,
    lateAccepts: 0,
  };

  constructor(options: KeyClientOptions) {
    this.#options = options;
  }

  /** One change of one key, on any server where none is named. */
  async change(server = this.#options.chooseServer()): Promise<void> {
    const { next } = this.#options;
    const names = [...this.#good.keys()];
    if (this.#toCleanUp.length > TO_CLEAN_UP && next(3) === 0) return this.#cleanUp(server);
    const name = names[next(names.length + 1)];
    if (name === undefined || names.length < GOOD) return this.#create(server);
    const value = this.#good.get(name);
    if (value === undefined) return;
    // No other action touches the key until this one is answered.
    this.#good.delete(name);
    const dice = next(3);
    // The use of a value that is over locks the key: none may still be on its way.
    if (dice === 0 || (this.#inUse.get(value) ?? 0) > 0) {
      if (await this.#revoke(server, value, deletionOf(name))) this.counts.deleted++;
    } else if (dice === 1) {
      if (await this.#revoke(server, value, disablingOf(name))) {
        this.counts.disabled++;
        this.#toCleanUp.push(name);
      }
    } else await this.#rotate(server, value);
  }

  /** Deletes a key that is disabled, or that may be there or not. */
  async #cleanUp(server: SimulatedServer): Promise<void> {
    const name = this.#toCleanUp.shift();
    if (name === undefined) return;
    const wasUnknown = this.#unknown.has(name);
    const answer = await this.#write(server, name, deletionOf(name));
    if (answer === undefined) return;
    if (answer.status === 404 && wasUnknown) {
      // An unanswered request may still take effect.
      this.#unknown.add(name);
      return;
    }
    expect(answer.status, answer.text).toBe(200);
    this.counts.acknowledged++;
    this.counts.cleanedUp++;
  }

  /** One use of one key, good or not. */
  async use(): Promise<void> {
    const { next } = this.#options;
    const good = [...this.#good.values()];
    const value = next(2) === 0 ? good[next(good.length)] : this.#revoked[next(this.#revoked.length)];
    if (value !== undefined) await this.#use(value);
  }

  async #use(value: Value): Promise<void> {
    this.#inUse.set(value, (this.#inUse.get(value) ?? 0) + 1);
    try {
      await this.#try(value);
    } finally {
      this.#inUse.set(value, (this.#inUse.get(value) ?? 0) - 1);
    }
  }

  async #try(value: Value): Promise<void> {
    const { world } = this.#options;
    const askedAt = world.now();
    const answer = await this.#ask(useOf(value.text));
    if (answer === undefined) return;
    // The identity was accepted; 403 only means that no role here allows asking for it.
    if (answer.status === 403) {
      this.counts.accepted++;
      const { revokedAt } = value;
      if (revokedAt === undefined || askedAt <= revokedAt) return;
      this.counts.lateAccepts++;
      expect(askedAt - revokedAt, `${value.name} is accepted after its revocation`).toBeLessThanOrEqual(
        FRESHNESS_BOUND_MS,
      );
      return;
    }
    if (answer.status !== 401) expect.fail(`${answer.status} ${answer.text}`);
    this.counts.refused++;
    // A server may not have heard of it yet.
    if (value.revokedAt !== undefined || this.#good.get(value.name) !== value) return;
    expect(askedAt - value.goodSince, `${value.name} is refused though it is good`).toBeLessThanOrEqual(
      FRESHNESS_BOUND_MS,
    );
  }

  /** A list is the state of the store at the revision that it says, and has all that was answered before. */
  async list(): Promise<void> {
    const before = this.#newest;
    const answer = await this.#ask({ url: KEYS, token: ROOT_TOKEN });
    if (answer === undefined || answer.status !== 200) return;
    const { metadata, items } = JSON.parse(answer.text);
    const revision = Number(metadata.resourceVersion);
    expect(revision).toBeGreaterThanOrEqual(before);
    const state = new TrueState(this.#options.history, KEY_PREFIX);
    state.moveTo(revision);
    const shown = items.map((item: any) => [
      `${KEY_PREFIX}${item.metadata.name}`,
      Number(item.metadata.resourceVersion),
    ]);
    expect(new Map(shown)).toEqual(state.revisions);
    this.counts.lists++;
  }

  /** Names of the keys that must exist in the end. */
  get goodNames(): readonly string[] {
    return [...this.#good.keys()].toSorted();
  }

  /** False for what was deleted with an answer. */
  mayExist(name: string): boolean {
    return this.#good.has(name) || this.#unknown.has(name) || this.#toCleanUp.includes(name);
  }

  /** Uses what rotations have replaced, which ends the keys: last of all. */
  async expectReplacedValuesRefused(): Promise<void> {
    for (const text of this.#replaced) {
      const answer = await this.#ask(useOf(text));
      if (answer !== undefined && answer.status !== 401)
        expect.fail(`a value is answered ${answer.status} after its rotation`);
    }
  }

  async #create(server: SimulatedServer): Promise<void> {
    const name = `k${this.#names++}`;
    const body = { metadata: { name }, spec: { user: "jane" } };
    const answer = await this.#write(server, name, { method: "POST", url: KEYS, token: ROOT_TOKEN, body });
    if (answer === undefined) return;
    expect(answer.status, answer.text).toBe(201);
    const created = JSON.parse(answer.text);
    this.#happened(created, name);
    this.counts.created++;
    this.#isGood(name, created.spec.key);
  }

  async #rotate(server: SimulatedServer, value: Value): Promise<void> {
    const body = { spec: { nonce: `n${this.#names++}` } };
    const answer = await this.#write(server, value.name, {
      method: "POST",
      url: `${KEYS}/${value.name}/rotate`,
      token: ROOT_TOKEN,
      body,
    });
    if (answer === undefined) return;
    expect(answer.status, answer.text).toBe(201);
    // Not tried any more before the end: the use of a value that is over locks the key.
    this.#replaced.push(value.text);
    if (this.#replaced.length > REVOKED) this.#replaced.shift();
    this.counts.acknowledged++;
    this.counts.rotated++;
    this.#isGood(value.name, JSON.parse(answer.text).status.key);
  }

  /** False when the key is as good as before, or when its state is unknown. */
  async #revoke(server: SimulatedServer, value: Value, request: SimulatedRequest): Promise<boolean> {
    const answer = await this.#write(server, value.name, request);
    if (answer === undefined) return false;
    if (answer.status === 409) {
      this.#good.set(value.name, value);
      return false;
    }
    expect(answer.status, answer.text).toBe(200);
    const answered = JSON.parse(answer.text);
    if (answered.kind === "OwnedAccessKey") this.#happened(answered, value.name);
    this.counts.acknowledged++;
    value.revokedAt = this.#options.world.now();
    this.#revoked.push(value);
    if (this.#revoked.length > REVOKED) this.#revoked.shift();
    const { world, onError } = this.#options;
    for (const delayMs of TRIED_AGAIN_MS) world.schedule(delayMs, () => void this.#use(value).catch(onError));
    return true;
  }

  #isGood(name: string, text: string): void {
    this.#good.set(name, { name, text, goodSince: this.#options.world.now(), revokedAt: undefined });
  }

  /** The write is in the history, at the revision that was told. */
  #happened({ metadata }: { readonly metadata: { readonly resourceVersion: string } }, name: string): void {
    const revision = Number(metadata.resourceVersion);
    expect(this.#options.history.at(revision)).toMatchObject({ key: `${KEY_PREFIX}${name}`, revision });
    this.#newest = Math.max(this.#newest, revision);
    this.counts.acknowledged++;
  }

  async #write(server: SimulatedServer, name: string, request: SimulatedRequest): Promise<Answer | undefined> {
    this.#unknown.add(name);
    const answer = await this.#ask(request, server);
    if (answer === undefined) this.#toCleanUp.push(name);
    else this.#unknown.delete(name);
    return answer;
  }

  /** Undefined when the outcome is unknown. */
  async #ask(request: SimulatedRequest, server = this.#options.chooseServer()): Promise<Answer | undefined> {
    const { world, trace } = this.#options;
    try {
      const { response } = await server.send(request);
      const text = await textOf(response);
      trace(`${world.now()} ${request.method ?? "GET"} ${request.url} ${response.status}`);
      const { status } = response;
      if (status === 503 || status === 504 || status === 500) {
        this.counts.unavailable++;
        expect(status, text).not.toBe(500);
        return undefined;
      }
      return { status, text };
    } catch (error) {
      if (!(error instanceof ServerGoneError)) throw error;
      this.counts.unanswered++;
      return undefined;
    }
  }
}

const deletionOf = (name: string): SimulatedRequest => ({
  method: "DELETE",
  url: `${KEYS}/${name}`,
  token: ROOT_TOKEN,
});

const disablingOf = (name: string): SimulatedRequest => ({
  method: "PATCH",
  url: `${KEYS}/${name}`,
  token: ROOT_TOKEN,
  body: { spec: { disabled: true } },
  contentType: "application/merge-patch+json",
});

/** Asks who the bearer is. */
export const useOf = (value: string): SimulatedRequest => ({
  method: "POST",
  url: `${GROUP}/selves`,
  token: value,
  body: { apiVersion: "management.postern/v1", kind: "Self" },
});

/** Long lists come in pieces. */
export async function textOf({ body }: ApiResponse): Promise<string> {
  if (body.type === "bytes") return Buffer.from(body.bytes).toString();
  if (body.type !== "stream") throw new Error("the answer is no text");
  let text = "";
  const write = (chunk: Uint8Array | string): boolean => {
    text += Buffer.from(chunk).toString();
    return true;
  };
  await body.run({ write, bufferedBytes: 0 }, new AbortController().signal);
  return text;
}
