import { unauthorizedError } from "@postern/apimachinery/meta/api-error";
import { describe, expect, it } from "vitest";
import type { Freshness } from "../cache/freshness.ts";
import type { Awaitable } from "../runtime/awaitable.ts";
import { createTestContext } from "../testing/test-context.ts";
import type { Authentication } from "./authenticator.ts";
import { freshAuthenticator } from "./fresh-authenticator.ts";

const { request } = createTestContext({ url: "/" });
const jane = { name: "jane", groups: [] };

function setUp(outcome: Authentication | Error | undefined, waitForKnown: () => Awaitable<void> = () => undefined) {
  let isFresh = true;
  const listeners = new Set<() => void>();
  const freshness: Freshness = {
    isFresh: () => isFresh,
    onStale(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
  const inner = {
    authenticate() {
      if (outcome instanceof Error) throw outcome;
      return outcome;
    },
  };
  return {
    authenticator: freshAuthenticator(inner, freshness, { waitForKnown }),
    listeners,
    becomeStale() {
      isFresh = false;
      for (const listener of listeners) listener();
    },
  };
}

describe("an authenticator that has to be fresh", () => {
  it("lets in while it is, and cuts what it has let in when it no longer is", async () => {
    let revoke = (): void => {};
    const onRevoked = (listener: () => void) => {
      revoke = listener;
      return { [Symbol.dispose]: () => undefined };
    };
    const { authenticator, listeners, becomeStale } = setUp({ user: jane, credential: { id: "k", onRevoked } });
    let cut = 0;
    const credentialOf = async () => (await authenticator.authenticate(request))?.credential;
    const first = await credentialOf();
    expect(first?.id).toBe("k");
    first?.onRevoked?.(() => cut++);
    revoke();
    expect(cut).toBe(1);
    (await credentialOf())?.onRevoked?.(() => cut++);
    const ended = (await credentialOf())?.onRevoked?.(() => expect.unreachable());
    ended?.[Symbol.dispose]();
    becomeStale();
    expect(cut).toBe(2);
    expect(listeners.size).toBeLessThanOrEqual(2);
  });

  it("returns the same answer for the same credential", async () => {
    const { authenticator } = setUp({ user: jane, credential: { id: "k" } });
    expect(await authenticator.authenticate(request)).toBe(await authenticator.authenticate(request));
  });

  it.each([
    ["a good credential", { user: jane }],
    ["one that nobody knows here", unauthorizedError()],
  ])("answers 503 to %s once it is stale", async (_name, outcome) => {
    const { authenticator, becomeStale } = setUp(outcome);
    becomeStale();
    await expect((async () => authenticator.authenticate(request))()).rejects.toMatchObject({ code: 503 });
  });

  it("leaves alone what carries no credential", async () => {
    const { authenticator, becomeStale } = setUp(undefined);
    becomeStale();
    expect(await authenticator.authenticate(request)).toBe(undefined);
  });

  it("leaves refusals as they are while it is fresh", async () => {
    const { authenticator } = setUp(unauthorizedError());
    await expect((async () => authenticator.authenticate(request))()).rejects.toMatchObject({ code: 401 });
  });

  it("looks once this thread sees what others have answered, or has waited for it in vain", async () => {
    let looks = 0;
    const settle = { reached: (): void => {}, stayedBehind: (_error: Error): void => {} };
    const { authenticator } = setUp(
      {
        get user() {
          looks++;
          return jane;
        },
      },
      () => new Promise((reached, stayedBehind) => Object.assign(settle, { reached, stayedBehind })),
    );
    const found = async () => (await authenticator.authenticate(request))?.user;
    const first = found();
    await new Promise(setImmediate);
    expect(looks).toBe(0);
    settle.reached();
    expect(await first).toBe(jane);
    const second = found();
    settle.stayedBehind(new Error("it stays behind"));
    expect(await second).toBe(jane);
  });
});
