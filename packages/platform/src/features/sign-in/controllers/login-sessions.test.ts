// How long sessions last: with a provider that does not answer, that refuses, and without use.

import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { Controller } from "@postern/apiserver/controllers/controller-port";
import { auditedInto } from "@postern/apiserver/testing/unaudited";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { NO_GRANTS } from "../../access-keys/key-grant.ts";
import { createKeyMint, type KeyMint } from "../../access-keys/kinds/mint-keys.ts";
import { type AccessKeyServer, createAccessKeyServer } from "../../access-keys/testing/access-key-server.ts";
import type { ProviderAnswer } from "../providers/provider-client.ts";
import { ProviderError, ProviderRefusal } from "../providers/provider-faults.ts";
import { type IdentityProviderState, readProvider } from "../providers/provider-state.ts";
import { createMintLogin } from "../sessions/login-keys.ts";
import { createLoginSessions } from "./login-sessions.ts";

const admin = { name: "root", groups: ["system:masters", "system:authenticated"] };
const { signal } = new AbortController();

let server: AccessKeyServer;
let mint: KeyMint;
let provider: IdentityProviderState;
const providers = new Map<string, IdentityProviderState>();
let sessions: Controller | undefined;
/** Answer of the provider to a refresh. */
let answer: (provider: string) => ProviderAnswer | Promise<ProviderAnswer>;
let asked = 0;
const askedAt = new Map<string, number>();
const errors: unknown[] = [];
const recorded: string[] = [];

const SETTINGS = { sessionTTL: 3600, refreshInterval: 60, staleAfter: 300 };

async function begin(settings: object = {}, name = "idp"): Promise<string> {
  const value = await signIn(settings, name);
  follow();
  await sessions?.idle();
  return value;
}

async function signIn(settings: object, name: string): Promise<string> {
  provider = readProvider({
    decode: () => ({
      metadata: { name, uid: `uid-of-${name}` },
      spec: {
        issuer: { url: "https://idp.test" },
        clientId: "client",
        claimMappings: { username: { claim: "name" } },
        ...SETTINGS,
        ...settings,
      },
    }),
  } as unknown as CachedObject);
  const identity = {
    ...{ subject: "jane", username: "jane", displayName: "", email: "", emailVerified: false },
    ...{ groups: [], extra: {}, warning: "" },
  };
  const signedIn = { user: "jane", identity, sub: "sub-of-jane", sid: "", refreshToken: "first" };
  providers.set(name, provider);
  return (await createMintLogin(mint, server.time.clock, signal)(provider, signedIn, "Browser")).value;
}

function follow(): void {
  sessions?.[Symbol.dispose]();
  sessions = createLoginSessions({
    port: { runtime: server.runtime, onError: (error) => errors.push(error) },
    accessKeys: server.ownedAccessKeyResource,
    providers: {
      ...NO_GRANTS,
      get: (name) => providers.get(name),
      all: () => [...providers.values()],
      sources: () => [],
      [Symbol.dispose]() {},
    },
    client: {
      async refresh({ name }) {
        asked++;
        askedAt.set(name, (askedAt.get(name) ?? 0) + 1);
        return answer(name);
      },
    },
    users: { keep: async () => "jane" },
    secrets: server.secrets,
    isReserved: () => false,
    revoke: mint.revoke,
  });
}

beforeEach(async () => {
  errors.length = 0;
  recorded.length = 0;
  asked = 0;
  askedAt.clear();
  providers.clear();
  answer = () => ({
    claims: { sub: "sub-of-jane", name: "jane" },
    idToken: {},
    subject: "sub-of-jane",
    sid: "",
    refreshToken: "next",
  });
  server = await createAccessKeyServer({ keyGrants: { ...NO_GRANTS, keyRefusalOf: () => undefined } });
  mint = createKeyMint(
    { ...server, own: () => server.ownedAccessKeyResource },
    { ...server, index: server.keys },
    auditedInto(recorded),
  );
  await server.send({ method: "POST", url: "users", user: admin, body: { metadata: { name: "jane" } } });
});
afterEach(async () => {
  sessions?.[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

/** Step by step, so that whatever waits for its time is done in between. */
async function pass(seconds: number): Promise<void> {
  for (let at = 0; at < seconds; at += 10) {
    server.time.advance(10_000);
    await sessions?.idle();
  }
}
const stateOf = (key: string): string => {
  const found = server.keys.find(key);
  return found === undefined ? "gone" : (server.keys.refusalOf(found) ?? "good");
};

describe("a session whose provider does not answer", () => {
  it("lasts for staleAfter, and ends then", async () => {
    const key = await begin();
    answer = () => {
      throw new ProviderError("down");
    };
    await pass(290);
    expect([stateOf(key), asked > 3, errors.length > 3]).toEqual(["good", true, true]);
    await pass(60);
    expect(stateOf(key)).toBe("gone");
  });

  it("lasts on where it answers in between, counted from then", async () => {
    const key = await begin();
    const up = answer;
    answer = () => {
      throw new ProviderError("down");
    };
    await pass(280);
    answer = up;
    await pass(60);
    answer = () => {
      throw new ProviderError("down again");
    };
    await pass(250);
    expect(stateOf(key)).toBe("good");
    await pass(120);
    expect(stateOf(key)).toBe("gone");
  });

  it("ends at once where the provider refuses", async () => {
    const key = await begin();
    answer = () => {
      throw new ProviderRefusal("invalid_grant");
    };
    await pass(50);
    expect(stateOf(key)).toBe("good");
    await pass(10);
    expect([stateOf(key), asked]).toEqual(["gone", 1]);
    expect(recorded).toEqual([
      expect.stringMatching(/^delete \/apis\/management\.postern\/v1\/ownedaccesskeys\/[^/]+$/),
    ]);
  });
});

describe("the sessions of a provider that never answers", () => {
  it.each([1, 5, 25])("hold up no others, with %i such providers", async (count) => {
    const other = await signIn({}, "other");
    for (let at = 0; at < 100; at++) await signIn({}, `slow-${at % count}`);
    answer = (name) => {
      if (name === "other") throw new ProviderRefusal("invalid_grant");
      return new Promise(() => {});
    };
    server.time.advance(60_000);
    follow();
    await expect.poll(() => stateOf(other)).toBe("gone");
    // Of each no more than its share is asked at a time.
    expect(Math.max(...[...askedAt].map(([name, times]) => (name === "other" ? 0 : times)))).toBeLessThanOrEqual(2);
  });
});

describe("a session with inactivityTTL", () => {
  it("ends without use, and lasts with it, up to sessionTTL", async () => {
    const [idle, used] = [await begin({ inactivityTTL: 600 }), await begin({ inactivityTTL: 600 })];
    for (let at = 0; at < 3500; at += 500) {
      await pass(500);
      expect([at, stateOf(used)]).toEqual([at, "good"]);
      await server.login(used);
    }
    expect(stateOf(idle)).toBe("expired");
    await pass(100);
    expect(stateOf(used)).toBe("expired");
    await expect(server.login(used)).rejects.toMatchObject({ code: 401 });
  });

  it("ends with sessionTTL where it is absent, used or not", async () => {
    const key = await begin();
    await pass(3590);
    expect(stateOf(key)).toBe("good");
    await server.login(key);
    await pass(10);
    expect(stateOf(key)).toBe("expired");
  });
});

describe("a clock that is set while sessions last", () => {
  const DAY_MS = 86_400_000;
  const setBy = (milliseconds: number): void => server.time.setTimeOfDay(server.time.clock.now() + milliseconds);

  it.each([-DAY_MS, DAY_MS, -30 * DAY_MS])(
    "by %d ms and back: they are refreshed as often as before",
    async (change) => {
      await begin({ sessionTTL: 90 * 86_400 });
      await pass(130);
      expect(asked).toBe(2);
      setBy(change);
      await pass(20);
      setBy(-change);
      await pass(600);
      expect([asked >= 11, asked <= 13]).toEqual([true, true]);
    },
  );

  it("for good: they are refreshed as often as before, and stale as late", async () => {
    const key = await begin({ sessionTTL: 90 * 86_400 });
    await pass(70);
    setBy(-DAY_MS);
    await pass(120);
    expect(asked).toBe(3);
    answer = () => {
      throw new ProviderError("down");
    };
    await pass(280);
    expect(stateOf(key)).toBe("good");
    await pass(120);
    expect(stateOf(key)).toBe("gone");
  });
});
