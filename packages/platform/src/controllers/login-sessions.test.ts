// How long sessions last: with a provider that does not answer, that refuses, and without use.

import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { Controller } from "@postern/apiserver/controllers/controller-port";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { NO_GRANTS } from "../access-keys/key-grant.ts";
import { type AccessKeyServer, createAccessKeyServer } from "../access-keys/testing/access-key-server.ts";
import { createKeyMint, type KeyMint } from "../resources/mint-keys.ts";
import { createMintLogin } from "../sign-in/login-keys.ts";
import { type ProviderAnswer, ProviderError, ProviderRefusal } from "../sign-in/provider-client.ts";
import { type IdentityProviderState, readProvider } from "../sign-in/provider-state.ts";
import { createLoginSessions } from "./login-sessions.ts";

const admin = { name: "root", groups: ["system:masters", "system:authenticated"] };
const { signal } = new AbortController();

let server: AccessKeyServer;
let mint: KeyMint;
let provider: IdentityProviderState;
let sessions: Controller | undefined;
/** What the provider answers to a refresh. */
let answer: () => ProviderAnswer;
let asked = 0;
const errors: unknown[] = [];

const SETTINGS = { sessionTTL: 3600, refreshInterval: 60, staleAfter: 300 };

async function begin(settings: object = {}): Promise<string> {
  provider = readProvider({
    decode: () => ({
      metadata: { name: "idp", uid: "uid-of-idp" },
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
    ...{ groups: [], extra: {} },
  };
  const signedIn = { user: "jane", identity, sub: "sub-of-jane", sid: "", refreshToken: "first" };
  const { value } = await createMintLogin(mint, server.time.clock, signal)(provider, signedIn, "Browser");
  sessions?.[Symbol.dispose]();
  sessions = createLoginSessions({
    port: { runtime: server.runtime, onError: (error) => errors.push(error) },
    accessKeys: server.ownedAccessKeyResource,
    providers: {
      ...NO_GRANTS,
      get: () => provider,
      all: () => [provider],
      [Symbol.dispose]() {},
    },
    client: {
      async refresh() {
        asked++;
        return answer();
      },
    },
    users: { keep: async () => "jane" },
    secrets: server.secrets,
    isReserved: () => false,
    revoke: mint.revoke,
  });
  await sessions.idle();
  return value;
}

beforeEach(async () => {
  errors.length = 0;
  asked = 0;
  answer = () => ({
    claims: { sub: "sub-of-jane", name: "jane" },
    subject: "sub-of-jane",
    sid: "",
    refreshToken: "next",
  });
  server = await createAccessKeyServer({ keyGrants: { ...NO_GRANTS, refusalOf: () => undefined } });
  const { names, keys, grants } = server;
  mint = createKeyMint({
    names,
    keys,
    grants,
    accessKeys: () => server.ownedAccessKeyResource,
    clock: server.time.clock,
  });
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
