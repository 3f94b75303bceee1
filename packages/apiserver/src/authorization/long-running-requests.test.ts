import { describe, expect, it } from "vitest";
import { ChangeListeners } from "../runtime/change-listeners.ts";
import { systemRuntime } from "../runtime/system-runtime.ts";
import type { Authorizer } from "./authorizer.ts";
import { authorizeWhileOpen, LongRunningRequests } from "./long-running-requests.ts";
import { combinedPolicyVersion } from "./policy-version.ts";

function createPolicyVersion() {
  const listeners = new ChangeListeners();
  let version = 1;
  return {
    get version() {
      return version;
    },
    onChange: (listener: () => void) => listeners.add(listener),
    change() {
      version++;
      listeners.call();
    },
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await turn();
}

function open(requests: LongRunningRequests) {
  const ended: number[] = [];
  const request = requests.begin(({ code }) => ended.push(code));
  return { request, ended };
}

describe("a request that lasts", () => {
  it("ends when one of its decisions is lost, once, and is asked about no more", async () => {
    using requests = new LongRunningRequests(systemRuntime);
    const policyVersion = createPolicyVersion();
    let allowed = true;
    let asked = 0;
    const { request, ended } = open(requests);
    for (const holds of [() => true, () => ++asked > 0 && allowed])
      request.keep({ policyVersion, decidedAt: 1, holds });
    policyVersion.change();
    await until(() => asked === 1);
    expect(ended).toEqual([]);
    allowed = false;
    policyVersion.change();
    await until(() => ended.length > 0);
    request[Symbol.dispose]();
    policyVersion.change();
    await turn();
    expect([ended, asked, requests.size]).toEqual([[403], 2, 0]);
  });

  it.each<[string, () => boolean | Promise<boolean>]>([
    ["throws", () => expect.unreachable()],
    ["rejects", () => Promise.reject(new Error("gone"))],
    ["is no, later", () => Promise.resolve(false)],
  ])("ends when a decision %s", async (_what, holds) => {
    using requests = new LongRunningRequests(systemRuntime);
    const policyVersion = createPolicyVersion();
    const { request, ended } = open(requests);
    request.keep({ policyVersion, decidedAt: 1, holds });
    policyVersion.change();
    await until(() => ended.length > 0);
    expect(ended).toEqual([403]);
  });

  it("is decided again at once when the rights changed while it was decided", async () => {
    using requests = new LongRunningRequests(systemRuntime);
    const policyVersion = createPolicyVersion();
    const { request, ended } = open(requests);
    policyVersion.change();
    request.keep({ policyVersion, decidedAt: 1, holds: () => false });
    await until(() => ended.length > 0);
  });

  it("is known before a request is sent, without waiting", () => {
    using requests = new LongRunningRequests(systemRuntime);
    const policyVersion = createPolicyVersion();
    const { request, ended } = open(requests);
    let asked = 0;
    request.keep({ policyVersion, decidedAt: 1, holds: () => ++asked < 2 });
    expect([request.isAllowed(), request.isAllowed(), asked]).toEqual([true, true, 0]);
    policyVersion.change();
    expect([request.isAllowed(), request.isAllowed(), asked]).toEqual([true, true, 1]);
    policyVersion.change();
    expect([request.isAllowed(), request.isAllowed(), asked, ended]).toEqual([false, false, 2, [403]]);
  });

  it("ends a part of it where the decision says how", async () => {
    using requests = new LongRunningRequests(systemRuntime);
    const policyVersion = createPolicyVersion();
    const { request, ended } = open(requests);
    let lost = 0;
    request.keep({ policyVersion, decidedAt: 1, holds: () => false, onLost: () => lost++ });
    policyVersion.change();
    await until(() => lost > 0);
    expect(ended).toEqual([]);
  });

  it("keeps what an authorizer has allowed, by all that the decision follows from", async () => {
    using requests = new LongRunningRequests(systemRuntime);
    const [one, other] = [createPolicyVersion(), createPolicyVersion()];
    let verdict: "allow" | "deny" = "allow";
    const policyVersion = combinedPolicyVersion([one, other]);
    const authorizer: Authorizer = { policyVersion, authorize: () => ({ verdict, reason: "" }) };
    const { request, ended } = open(requests);
    const attributes = { verb: "watch" } as Parameters<Authorizer["authorize"]>[0];
    await authorizeWhileOpen(authorizer, attributes, request);
    verdict = "deny";
    await authorizeWhileOpen(authorizer, attributes, request);
    expect(requests.size).toBe(1);
    other.change();
    await until(() => ended.length > 0);
  });
});

it("a burst of changes with ten thousand of them delays no request, and the last change decides each", async () => {
  using requests = new LongRunningRequests(systemRuntime);
  const policyVersion = createPolicyVersion();
  const last = 200;
  let decisions = 0;
  const work = (): void => {
    for (const until = performance.now() + 0.03; performance.now() < until; );
  };
  let ended = 0;
  for (let count = 0; count < 10_000; count++) {
    const request = requests.begin(() => ended++);
    const holds = (): boolean => {
      decisions++;
      work();
      return policyVersion.version < last;
    };
    request.keep({ policyVersion, decidedAt: policyVersion.version, holds });
  }
  let isOver = false;
  let most = 0;
  const counted = (async () => {
    while (!isOver) {
      const before = decisions;
      await new Promise((resolve) => setImmediate(resolve));
      most = Math.max(most, decisions - before);
    }
  })();
  while (policyVersion.version < last) {
    policyVersion.change();
    await turn();
  }
  await until(() => ended === 10_000);
  isOver = true;
  await counted;
  // A decision takes at least 0.03 ms here, so a slice of 4 ms has at most 134 of them on a machine of any speed.
  expect(most).toBeLessThan(500);
  // Without putting changes together there would be two million.
  expect(decisions).toBeLessThan(400_000);
});
