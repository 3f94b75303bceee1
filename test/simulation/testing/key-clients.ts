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

/** A value of a key; whose state nobody knows is in no list of them. */
type Value = {
  readonly name: string;
  readonly text: string;
  readonly goodSince: number;
  revokedAt: number | undefined;
};

/** So many revoked values are tried on. */
const REVOKED = 50;

/** When somebody tries after it was revoked. */
const TRIED_AGAIN_MS = [1, 200, 1_000, 5_000, FRESHNESS_BOUND_MS, FRESHNESS_BOUND_MS + 1, 15_000, 30_000];

type Answer = { readonly status: number; readonly body: any };

export class KeyClients {
  readonly #options: KeyClientOptions;
  readonly #good = new Map<string, Value>();
  readonly #revoked: Value[] = [];
  /** How many uses of a value are under way. */
  readonly #inUse = new WeakMap<Value, number>();
  /** Names whose last change was not answered. */
  readonly #unknown = new Set<string>();
  /** The newest revision of any answer. */
  #newest = 0;
  #names = 0;
  readonly counts = {
    acknowledged: 0,
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

  /** One change of one key. */
  async change(): Promise<void> {
    const { next } = this.#options;
    const names = [...this.#good.keys()];
    const name = names[next(names.length + 1)];
    if (name === undefined || names.length < 10) return this.#create();
    const value = this.#good.get(name);
    if (value === undefined) return;
    // Nobody else touches it until this is answered.
    this.#good.delete(name);
    const dice = next(3);
    // The use of a value that is over locks the key: none may still be on its way.
    if (dice === 0 || (this.#inUse.get(value) ?? 0) > 0)
      return this.#revoke(value, { method: "DELETE", url: `${KEYS}/${name}`, token: ROOT_TOKEN });
    if (dice === 1) {
      const contentType = "application/merge-patch+json";
      const body = { spec: { disabled: true } };
      return this.#revoke(value, { method: "PATCH", url: `${KEYS}/${name}`, token: ROOT_TOKEN, body, contentType });
    }
    return this.#rotate(value);
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
    const body = { apiVersion: "management.postern/v1", kind: "Self" };
    const answer = await this.#ask({ method: "POST", url: `${GROUP}/selves`, token: value.text, body });
    if (answer === undefined) return;
    // Who it is was believed, though there are no roles here that let anybody ask who they are.
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
    expect(answer.status).toBe(401);
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
    const { metadata, items } = answer.body;
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

  /** What there has to be in the end. */
  get goodNames(): readonly string[] {
    return [...this.#good.keys()].toSorted();
  }

  mayExist(name: string): boolean {
    return this.#good.has(name) || this.#unknown.has(name) || this.#revoked.some((value) => value.name === name);
  }

  async #create(): Promise<void> {
    const name = `k${this.#names++}`;
    const body = { metadata: { name }, spec: { user: "jane" } };
    const answer = await this.#write(name, { method: "POST", url: KEYS, token: ROOT_TOKEN, body });
    if (answer === undefined) return;
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    this.#happened(answer, name);
    this.#isGood(name, answer.body.spec.key);
  }

  async #rotate(value: Value): Promise<void> {
    const body = { spec: { nonce: `n${this.#names++}` } };
    const answer = await this.#write(value.name, {
      method: "POST",
      url: `${KEYS}/${value.name}/rotate`,
      token: ROOT_TOKEN,
      body,
    });
    if (answer === undefined) return;
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    // Not tried any more: the use of a value that is over locks the key.
    this.counts.acknowledged++;
    this.#isGood(value.name, answer.body.status.key);
  }

  async #revoke(value: Value, request: SimulatedRequest): Promise<void> {
    const answer = await this.#write(value.name, request);
    if (answer === undefined) return;
    if (answer.status === 409) {
      this.#good.set(value.name, value);
      return;
    }
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    if (answer.body.kind === "OwnedAccessKey") this.#happened(answer, value.name);
    this.counts.acknowledged++;
    value.revokedAt = this.#options.world.now();
    this.#revoked.push(value);
    if (this.#revoked.length > REVOKED) this.#revoked.shift();
    const { world, onError } = this.#options;
    for (const delayMs of TRIED_AGAIN_MS) world.schedule(delayMs, () => void this.#use(value).catch(onError));
  }

  #isGood(name: string, text: string): void {
    this.#good.set(name, { name, text, goodSince: this.#options.world.now(), revokedAt: undefined });
  }

  /** The write is in the history, at the revision that was told. */
  #happened({ body }: Answer, name: string): void {
    const revision = Number(body.metadata.resourceVersion);
    expect(this.#options.history.at(revision)).toMatchObject({ key: `${KEY_PREFIX}${name}`, revision });
    this.#newest = Math.max(this.#newest, revision);
    this.counts.acknowledged++;
  }

  async #write(name: string, request: SimulatedRequest): Promise<Answer | undefined> {
    this.#unknown.add(name);
    const answer = await this.#ask(request);
    if (answer !== undefined) this.#unknown.delete(name);
    return answer;
  }

  /** Undefined when nobody knows what was done. */
  async #ask(request: SimulatedRequest): Promise<Answer | undefined> {
    const { world, chooseServer, trace } = this.#options;
    try {
      const { response } = await chooseServer().send(request);
      const text = await textOf(response);
      trace(`${world.now()} ${request.method ?? "GET"} ${request.url} ${response.status}`);
      const { status } = response;
      if (status === 503 || status === 504 || status === 500) {
        this.counts.unavailable++;
        expect(status, text).not.toBe(500);
        return undefined;
      }
      return { status, body: JSON.parse(text) };
    } catch (error) {
      if (!(error instanceof ServerGoneError)) throw error;
      this.counts.unanswered++;
      return undefined;
    }
  }
}

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
